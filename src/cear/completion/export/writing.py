"""A table of proposals in a file: the format is told by how the file's name ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

import polars as pl
import polars.selectors as cs

from cear.completion.export.about import About
from cear.completion.export.tabular import write_jsonl, write_parquet, write_tsv
from cear.core.errors import CearError, ConfigError, DataError
from cear.core.files import replacing

FACT = ["subject", "relation", "object"]
NAMES = ["subject_name", "relation_name", "object_name"]
SAID = ["probability", "rank", "stage1_rank", "score", "stage1_score", "known", "reasons"]
DECIDED = ["probability", "who", "at", "note", "run", "id"]

Writer = Callable[[Path, pl.DataFrame, About], None]


def write_table(path: Path, table: pl.DataFrame, about: About) -> None:
    """Write proposals, one row a fact, whole or not at all: `.tsv`, `.jsonl`, `.parquet`, `.nt` or `.ttl`."""
    refuse_format(path)
    _check_table(table)
    _write(path, table, about, FORMATS[path.suffix.lower()])


def write_accepted(path: Path, table: pl.DataFrame, about: About) -> None:
    """Write facts that people accepted, whole or not at all, with `who`, `at`, `note`, `run` and `id` of each decision.

    `.tsv`, `.jsonl` and `.parquet` have all columns. `.nt` are the facts alone, asserted. `.ttl` is RDF 1.2: the facts,
    asserted, and of each who accepted it, when, which run had proposed it, and how likely it was called.
    """
    refuse_format(path)
    _check_table(table, FACT + NAMES + DECIDED)
    _write(path, table, about, FORMATS_OF_ACCEPTED[path.suffix.lower()])


def _write(path: Path, table: pl.DataFrame, about: About, write: Writer) -> None:
    try:
        with replacing(path) as partial:
            write(partial, table, about)
    except OSError as error:
        raise CearError(
            f"{path} could not be written: {error}. What it held before is still there. "
            "Make room on the disk, or check who may write there, then write it again."
        ) from error


def refuse_format(path: Path) -> None:
    """Refuse now what could not be written later: an ending that says no format, a folder that is not there."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        ending = f"ends in {suffix!r}" if suffix else "has no ending"
        raise ConfigError(f"{path} {ending}, which says no format of proposals. Known: {', '.join(FORMATS)}.")
    if not path.parent.is_dir():  # it is more often mistyped than meant to be made
        raise DataError(f"{path} cannot be written: there is no folder {path.parent}. Make it, or name another.")


def _check_table(table: pl.DataFrame, needed: Sequence[str] = FACT + NAMES + SAID) -> None:
    if missing := [name for name in needed if name not in table.columns]:
        raise DataError(
            f"The table of proposals has no column {', '.join(missing)}. Add it; where nothing is known, with nulls."
        )
    if table.select(pl.any_horizontal(pl.col(FACT).is_null().any())).item():
        raise DataError("The table of proposals has a row without subject, relation or object. Leave such rows out.")
    if unwritable := cs.expand_selector(table, cs.binary() | cs.object()):
        raise DataError(f"The column {', '.join(unwritable)} holds bytes or Python objects. Make texts of them.")


def _write_n_triples(path: Path, table: pl.DataFrame, about: About) -> None:
    _rdf("rdf").write_n_triples(path, table, about)


def _write_turtle(path: Path, table: pl.DataFrame, about: About) -> None:
    _rdf("rdf").write_turtle(path, table, about)


def _write_facts(path: Path, table: pl.DataFrame, about: About) -> None:
    del about  # nothing but facts, so that any program takes them as its own
    _rdf("accepted").write_facts(path, table)


def _write_accepted(path: Path, table: pl.DataFrame, about: About) -> None:
    _rdf("accepted").write_accepted(path, table, about)


def _rdf(name: str) -> ModuleType:
    try:
        return import_module(f"cear.completion.export.{name}")
    except ModuleNotFoundError as error:
        if error.name != "pyoxigraph":
            raise
        message = 'Writing RDF needs pyoxigraph, which is not installed: pip install "cear[rdf]".'
        raise ConfigError(message) from error


FORMATS: dict[str, Writer] = {
    ".tsv": write_tsv,
    ".jsonl": write_jsonl,
    ".parquet": write_parquet,
    ".nt": _write_n_triples,
    ".ttl": _write_turtle,
}
FORMATS_OF_ACCEPTED: dict[str, Writer] = FORMATS | {".nt": _write_facts, ".ttl": _write_accepted}
