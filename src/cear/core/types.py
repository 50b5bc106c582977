"""The types that every room shares: queries, known answers' shape, candidate lists, ranks.

One query type inside: ⟨s, r, ?⟩ is `(s, r)`, and ⟨?, r, o⟩ is `(o, r + R)` with R relations, the
reciprocal of `r`. Arrays are numpy, int64 for ids, and are never changed after they are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]

Split = Literal["train", "valid", "test"]
Side = Literal["head", "tail"]
TieRule = Literal["expected", "optimistic", "pessimistic"]
Protocol = Literal["ours", "care"]  # how ranks are counted where things have several mentions

SPLITS: tuple[Split, ...] = get_args(Split)
SIDES: tuple[Side, ...] = get_args(Side)
TIE_RULES: tuple[TieRule, ...] = get_args(TieRule)

NO_ENTITY = -1  # pads a candidate list that has fewer than k entities


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Questions ⟨entity, relation, ?⟩; `relation >= R` asks for the head (reciprocal relation)."""

    entity: Ints  # (query,)
    relation: Ints  # (query,), in [0, 2R)

    def __len__(self) -> int:
        return len(self.entity)

    def __getitem__(self, which: slice | Ints | Bools) -> Queries:
        return Queries(self.entity[which], self.relation[which])

    def distinct(self) -> tuple[Queries, Ints]:
        """Each query once, and for each of these its place among those, (query,): facts may share a query."""
        width = int(self.entity.max(initial=0)) + 1
        keys, place = np.unique(self.relation * width + self.entity, return_inverse=True)
        return Queries(keys % width, keys // width), place


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """A list of entities per row: row i holds `values[offsets[i]:offsets[i + 1]]`."""

    offsets: Ints  # (row + 1,)
    values: Ints  # (value,)

    @classmethod
    def singles(cls, values: Ints) -> Ragged:
        """Rows of one value each."""
        return cls(np.arange(len(values) + 1), values)

    @classmethod
    def empty(cls, n_rows: int) -> Ragged:
        """Rows without values."""
        return cls(np.zeros(n_rows + 1, np.int64), np.zeros(0, np.int64))

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """These rows."""
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return cls(offsets, np.fromiter((value for row in rows for value in row), np.int64, count=int(offsets[-1])))

    @classmethod
    def of_counts(cls, counts: Ints, values: Ints) -> Ragged:
        """Rows of so many values each, one after the other."""
        return cls(_ends(counts), values)

    @classmethod
    def grouped(cls, row: Ints, values: Ints, n_rows: int) -> Ragged:
        """The values of each row, in the order in which they come; `row` is that of each value."""
        return cls.of_counts(np.bincount(row, minlength=n_rows), values[np.argsort(row, kind="stable")])

    @classmethod
    def concat(cls, tables: Sequence[Ragged]) -> Ragged:
        """The rows of several tables, one table after the other."""
        every = [cls.empty(0), *tables]
        counts = np.concatenate([table.counts for table in every])
        return cls.of_counts(counts, np.concatenate([table.values for table in every]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def counts(self) -> Ints:
        """The number of values in each row, (row,)."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Ints:
        """The row of each value, (value,)."""
        return np.repeat(np.arange(len(self)), self.counts)

    def take(self, rows: Ints) -> Ragged:
        """These rows, in this order; a row may be taken more than once."""
        counts = self.offsets[rows + 1] - self.offsets[rows]
        offsets = _ends(counts)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
        return Ragged(offsets, self.values[np.repeat(self.offsets[rows], counts) + within])

    def row(self, index: int) -> Ints:
        """The values of one row."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def contains(self, entities: Ints) -> Bools:
        """Which entities of each row are in the same row of this table, (row, candidate); `NO_ENTITY` never is."""
        width = 1 + max(int(entities.max(initial=NO_ENTITY)), int(self.values.max(initial=NO_ENTITY)))
        key = np.arange(len(entities))[:, None] * width + entities
        found: Bools = np.isin(key, self.rows * width + self.values) & (entities != NO_ENTITY)
        return found


def _ends(counts: Ints) -> Ints:
    """Where rows of so many values begin, and where the last one ends, (row + 1,)."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The best k entities of each query in rank order; `NO_ENTITY` with score -inf pads short lists."""

    entities: Ints  # (query, candidate)
    scores: Floats  # (query, candidate), never increasing along a row

    def __len__(self) -> int:
        return len(self.entities)

    def __getitem__(self, which: slice | Ints | Bools) -> Candidates:
        return Candidates(self.entities[which], self.scores[which])

    @classmethod
    def concat(cls, parts: Sequence[Candidates]) -> Candidates:
        """The lists of several blocks of queries, one after the other."""
        return cls(*(np.concatenate([getattr(part, column) for part in parts]) for column in ("entities", "scores")))

    @property
    def k(self) -> int:
        """The length of each list."""
        return int(self.entities.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class RankedLists:
    """The entities of each query in their final order; `NO_ENTITY` pads a ranking that has fewer."""

    entities: Ints  # (query, place)
    scores: Floats  # (query, place), by the last stage; NaN behind the re-ranked list, where Stage 1's order goes on
    stage1_scores: Floats  # (query, place)
    stage1_ranks: Ints  # (query, place), 1 is best; 0 where Stage 1 did not look that far
    listed: Ints  # (query,), how many of the first places were re-ranked

    def __len__(self) -> int:
        return len(self.entities)

    def __getitem__(self, which: slice | Ints | Bools) -> RankedLists:
        scores, before = self.scores[which], self.stage1_scores[which]
        return RankedLists(self.entities[which], scores, before, self.stage1_ranks[which], self.listed[which])

    @classmethod
    def concat(cls, parts: Sequence[RankedLists]) -> RankedLists:
        """The rankings of several blocks of queries, one after the other."""
        columns = ("entities", "scores", "stage1_scores", "stage1_ranks", "listed")
        return cls(*(np.concatenate([getattr(part, column) for part in parts]) for column in columns))


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Where the gold of each query stands: how many entities score above it, and how many exactly as high."""

    above: Ints  # (query,)
    tied: Ints  # (query,), the gold itself not counted

    def __len__(self) -> int:
        return len(self.above)

    def __getitem__(self, which: slice | Ints | Bools) -> Ranks:
        return Ranks(self.above[which], self.tied[which])

    def under(self, ties: TieRule = "expected") -> npt.NDArray[np.float64]:
        """The rank of each gold under a tie rule, 1 is best; `expected` is the mean over all orders of the tie."""
        share = {"optimistic": 0.0, "expected": 0.5, "pessimistic": 1.0}[ties]
        return 1.0 + self.above + share * self.tied
