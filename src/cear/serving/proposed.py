"""The proposals that wait beside a run, `RUN/proposals.parquet`: whoever completes puts them there, reviewers read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from filelock import FileLock

from cear import __version__
from cear.completion import About, fact_keys, write_table
from cear.core.errors import MismatchError
from cear.core.reading import reading
from cear.core.tables import read_table, read_words
from cear.core.types import Floats, Ints
from cear.data import KnowledgeBase
from cear.pipeline import Completion, Run

FILE = "proposals.parquet"
FACT = ["subject", "relation", "object"]
COLUMNS: Mapping[str, type[pl.DataType]] = {
    **{name: pl.String for end in FACT for name in (end, f"{end}_name")},
    "probability": pl.Float64,
    "rank": pl.Int64,
    "stage1_rank": pl.Int64,
    "score": pl.Float64,
    "stage1_score": pl.Float64,
    "known": pl.String,
    "reasons": pl.String,
}


def keep_proposals(run: Run, made: Completion) -> Path:
    """Put what a completion proposes before those who review, and give back the file.

    Proposals of earlier completions stay; those that it proposes again are taken from the new one, with the reasons of
    the earlier one where it gives none.
    """
    path = run.folder / FILE
    with FileLock(run.folder / f".{FILE}.lock"):
        parts = [made.table, *([] if not path.exists() else [read_table(path)])]
        table = pl.concat([part.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items()) for part in parts])
        table = table.with_columns(pl.col("reasons").backward_fill().over(FACT))  # the new ones stand first
        about = About(run.folder.name, run.kb.digest, __version__, datetime.now(UTC), note=made.note)
        write_table(path, _sorted(table.unique(FACT, keep="first", maintain_order=True)), about)
    return path


def _sorted(table: pl.DataFrame) -> pl.DataFrame:
    """The most probable first; equal ones by their ids, so that a place means the same in every reading."""
    return table.sort("probability", *FACT, descending=[True, False, False, False], nulls_last=True)


@dataclass(frozen=True, eq=False)
class Sheet:
    """All proposals, the most probable first, and where each stands in other orders."""

    table: pl.DataFrame
    facts: Ints  # (proposal, 3)
    note: str
    _keys: Ints  # (proposal,), ascending
    _rows: Ints  # (proposal,), of each key

    @classmethod
    def read(cls, run: Run) -> Sheet:
        """The proposals beside a run; none where nothing was proposed yet."""
        path, kb = run.folder / FILE, run.kb
        if not path.exists():
            return cls.of(kb, pl.DataFrame(schema=COLUMNS), "")
        about = read_words(path, "about") or {}
        if about.get("digest") != kb.digest:
            raise MismatchError(
                f"{path} holds proposals for another knowledge base than that of the run. Delete it, and complete the "
                f"run again: `cear complete {run.folder}`."
            )
        with reading(path):
            return cls.of(kb, read_table(path), str(about.get("note", "")))

    @classmethod
    def of(cls, kb: KnowledgeBase, table: pl.DataFrame, note: str) -> Sheet:
        """These proposals of a knowledge base."""
        ends = (kb.entities, kb.relations, kb.entities)
        numbers = [[each.by_id[id_] for id_ in table[end]] for end, each in zip(FACT, ends, strict=True)]
        facts = np.array(numbers, np.int64).T.reshape(-1, 3)
        keys = fact_keys(facts, kb)
        rows = np.argsort(keys, kind="stable")
        return cls(table, facts, note, keys[rows], rows)

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def probability(self) -> Floats:
        """How likely each is, (proposal,); -1 where nobody says."""
        return self.table["probability"].fill_null(-1.0).to_numpy()

    @cached_property
    def by_relation(self) -> Ints:
        """The rows by the name of their relation, then the most probable first, (proposal,)."""
        names = self.table["relation_name"].fill_null("").rank("dense").to_numpy()
        return np.lexsort((np.arange(len(self)), self.facts[:, 1], names))

    def row(self, key: int) -> int | None:
        """The row of a fact by its key, or None."""
        place = int(np.searchsorted(self._keys, key))
        return int(self._rows[place]) if place < len(self) and self._keys[place] == key else None
