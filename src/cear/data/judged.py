"""Facts that people judged: true or false, whether the knowledge base has them or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from cear.core.errors import AmbiguousName, DataError, UnknownName
from cear.core.types import Bools, Ints, Split
from cear.data.decided import TRUTH, read_decided
from cear.data.draft import FACT
from cear.data.knowledge_base import KnowledgeBase
from cear.data.lines import LINE, BadLine, Shape
from cear.data.numbering import NO_NUMBER, places
from cear.data.packed import kind_of
from cear.data.readers.columns import SHAPES, shape_of
from cear.data.sources import find_source
from cear.data.tables import Table, read_table, refuse
from cear.data.vocabulary import Vocabulary

LOG = ".jsonl"
TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "-1": False}
FOLDER = "judged"


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Facts with what people say of them."""

    facts: Ints  # (fact, 3): subject, relation, object
    truth: Bools  # (fact,)
    skipped: int = 0
    """Lines that were left out: bad ones, and those that name nothing in the knowledge base, or several things."""

    def __len__(self) -> int:
        return len(self.facts)

    @classmethod
    def concat(cls, parts: Sequence[Judged]) -> Judged:
        """The facts of several, one after the other."""
        facts, truth = ([getattr(part, what) for part in parts] for what in ("facts", "truth"))
        return cls(np.concatenate(facts), np.concatenate(truth), sum(part.skipped for part in parts))


def read_judged(
    path: str | Path, kb: KnowledgeBase, *, truth: bool | None = None, skip_bad_lines: bool = False
) -> Judged:
    """The judged facts of a .tsv, .txt or .csv file: subject, relation, object, by id or name, and their truth.

    A .jsonl file is the log of a review: what was accepted last is true, what was rejected false.

    Args:
        path: the file; a first line that names its columns is a header.
        kb: the knowledge base that has the entities and relations.
        truth: what is true of every fact of a file that has no column for it.
        skip_bad_lines: leave out and count lines that do not fit or name something unknown, rather than refuse.

    """
    path = Path(path)
    table = _rows(path, truth, skip_bad_lines=skip_bad_lines)
    facts = np.column_stack([_integers(table.rows[part], _vocabulary(kb, part)) for part in FACT])
    found = (facts != NO_NUMBER).all(axis=1)
    if not skip_bad_lines and not found.all():
        _refuse_unknown(table.rows.filter(~found), path, kb)
    skipped = len(table.skipped) + int((~found).sum())
    return Judged(facts[found], table.rows[TRUTH].to_numpy()[found], skipped)


def read_facts(path: str | Path) -> list[tuple[str, str, str]]:
    """The facts of such a file as they are written, in their order; whether anybody knows their names is not asked."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no file {path}. Give one with the columns subject, relation, object.")
    return [(s, r, o) for s, r, o in read_table(path, _shape(path), skip_bad_lines=False).rows.select(FACT).iter_rows()]


def judged_of(source: str | Path, kb: KnowledgeBase, split: Split, *, skip_bad_lines: bool = False) -> Judged:
    """The judged facts of a split, true ones first, from `judged/<split>_true.txt` and `_false.txt` of a data folder.

    Where only false ones are there, the facts of the split itself are the true ones.
    """
    folder = find_source(source).path / FOLDER
    files = {truth: folder / f"{split}_{str(truth).lower()}.txt" for truth in (True, False)}
    there = {truth: file for truth, file in files.items() if file.is_file()}
    if not there:
        raise DataError(f"{folder} has no {' and no '.join(file.name for file in files.values())}.")
    parts = [read_judged(file, kb, truth=truth, skip_bad_lines=skip_bad_lines) for truth, file in there.items()]
    if True not in there:
        parts.insert(0, Judged(kb.facts(split), np.ones(len(kb.facts(split)), bool)))
    return Judged.concat(parts)


def _rows(path: Path, truth: bool | None, *, skip_bad_lines: bool) -> Table:
    """The rows of a file with a column of truth values."""
    if path.suffix == LOG:
        return Table(read_decided(path), ())
    shape = _shape(path)
    table = read_table(path, shape, skip_bad_lines=skip_bad_lines)
    if TRUTH not in shape.columns:
        if truth is None:
            raise DataError(
                f"{path} has no column {TRUTH!r}. Add it, or say what all its facts are (truth=True or False)."
            )
        return Table(table.rows.with_columns(pl.lit(truth).alias(TRUTH)), table.skipped)
    said = pl.col(TRUTH).str.strip_chars().str.to_lowercase()
    rows = table.rows.with_columns(said.replace_strict(TRUTHS, default=None, return_dtype=pl.Boolean).alias("value"))
    bad = [
        BadLine(str(path), line, f"the truth is {word!r}, expected one of {', '.join(TRUTHS)}.")
        for line, word in rows.filter(pl.col("value").is_null()).select(LINE, TRUTH).iter_rows()
    ]
    refuse(bad, skip_bad_lines=skip_bad_lines)
    return Table(rows.drop(TRUTH).drop_nulls().rename({"value": TRUTH}), (*table.skipped, *bad))


def _shape(path: Path) -> Shape:
    """Three columns or four, as the first line has them; it is a header if it names them."""
    if kind_of(path) not in SHAPES:
        raise DataError(f"{path} is not a file of judged facts that we read: expected {', '.join(SHAPES)}.")
    return shape_of(path, FACT, (*FACT, TRUTH))


def _vocabulary(kb: KnowledgeBase, part: str) -> Vocabulary:
    return kb.relations if part == "relation" else kb.entities


def _integers(words: pl.Series, vocabulary: Vocabulary) -> Ints:
    """The integer of each id, or else name; `NO_NUMBER` where nothing is called so or several are, (word,)."""
    found = places(words, vocabulary.table["id"]).copy()
    for place in np.flatnonzero(found == NO_NUMBER).tolist():
        called = vocabulary.named(words[place])
        found[place] = called[0] if len(called) == 1 else NO_NUMBER
    return found


def _refuse_unknown(rows: pl.DataFrame, path: Path, kb: KnowledgeBase) -> None:
    """Raise an error about the first of these rows, each of which names something that cannot be found."""
    row = rows.row(0, named=True)
    for part in FACT:
        try:
            _vocabulary(kb, part).find(row[part])
        except (UnknownName, AmbiguousName) as error:
            more = f" {rows.height - 1:,} more lines have problems." if rows.height > 1 else ""
            advice = "Correct the file, or skip such lines (skip_bad_lines)."
            raise DataError(f"{BadLine(str(path), row[LINE], str(error))}{more} {advice}") from error
