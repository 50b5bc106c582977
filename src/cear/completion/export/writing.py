"""A table of proposals in a file: the format is told by how the file's name ends."""

from __future__ import annotations

from collections.abc import Callable
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

Writer = Callable[[Path, pl.DataFrame, About], None]


def write_table(path: Path, table: pl.DataFrame, about: About) -> None:
    """Write proposals, one row a fact, whole or not at all: `.tsv`, `.jsonl`, `.parquet`, `.nt` or `.ttl`."""
    refuse_format(path)
    write = FORMATS[path.suffix.lower()]
    _check_table(table)
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


def _check_table(table: pl.DataFrame) -> None:
    if missing := [name for name in FACT + NAMES + SAID if name not in table.columns]:
        raise DataError(
            f"The table of proposals has no column {', '.join(missing)}. Add it; where nothing is known, with nulls."
        )
    if table.select(pl.any_horizontal(pl.col(FACT).is_null().any())).item():
        raise DataError("The table of proposals has a row without subject, relation or object. Leave such rows out.")
    if unwritable := cs.expand_selector(table, cs.binary() | cs.object()):
        raise DataError(f"The column {', '.join(unwritable)} holds bytes or Python objects. Make texts of them.")


def _write_n_triples(path: Path, table: pl.DataFrame, about: About) -> None:
    _rdf().write_n_triples(path, table, about)


def _write_turtle(path: Path, table: pl.DataFrame, about: About) -> None:
    _rdf().write_turtle(path, table, about)


def _rdf() -> ModuleType:
    try:
        from cear.completion.export import rdf
    except ModuleNotFoundError as error:
        if error.name != "pyoxigraph":
            raise
        message = 'Writing RDF needs pyoxigraph, which is not installed: pip install "cear[rdf]".'
        raise ConfigError(message) from error
    return rdf


FORMATS: dict[str, Writer] = {
    ".tsv": write_tsv,
    ".jsonl": write_jsonl,
    ".parquet": write_parquet,
    ".nt": _write_n_triples,
    ".ttl": _write_turtle,
}
