"""Candidate lists of a knowledge base: made from scores alone, labelled from training facts alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cear.candidates.retrievers import Retrievers
from cear.core.errors import MismatchError
from cear.core.progress import Progress, silent
from cear.core.types import Bools, Candidates, Ints, Queries
from cear.data import KnownAnswers

Known = Literal["keep", "drop"]


@dataclass(frozen=True)
class Manifest:
    """What a file of lists says about itself."""

    data: str
    """The name of the knowledge base."""
    digest: str
    """Of its content: lists belong to one knowledge base."""
    split: str
    """Whose queries these are."""
    k: int
    known: Known
    """Whether training answers were left in the lists."""
    model: str
    """Who made the lists."""


@dataclass(frozen=True, eq=False)
class Lists:
    """The candidates of some queries of a knowledge base."""

    queries: Queries
    candidates: Candidates
    manifest: Manifest

    def __post_init__(self) -> None:
        if len(self.queries) != len(self.candidates):
            raise MismatchError(
                f"{len(self.candidates)} lists for {len(self.queries)} queries: every query has exactly one list."
            )

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, which: slice | Ints | Bools) -> Lists:
        return Lists(self.queries[which], self.candidates[which], self.manifest)


def make_lists(retrievers: Retrievers, queries: Queries, manifest: Manifest, *, progress: Progress = silent) -> Lists:
    """The best candidates of each query as scored; `known: drop` leaves out the training answers that were learned.

    The manifest says how many, and which knowledge base they are for: that of the retrievers, or the one it was
    before a fold was held out.
    """
    kb = retrievers.kb
    drop = kb.known("train") if manifest.known == "drop" else None
    once, place = queries.distinct()
    found = retrievers.top_k(once, min(manifest.k, kb.n_entities), drop=drop, progress=progress)
    return Lists(queries, found[place], replace(manifest, k=found.k))


def sample_queries(queries: Queries, n: int | None, *, seed: int) -> Queries:
    """A fixed random sample of so many queries, in their order; all of them for None or where there are no more."""
    if n is None or n >= len(queries):
        return queries
    return queries[np.sort(np.random.default_rng([seed, len(queries)]).choice(len(queries), n, replace=False))]


def distinct_lists(lists: Lists) -> tuple[Lists, Ints]:
    """Each different list once, and for each of `lists` its place among those: facts may share their queries."""
    rows = np.column_stack([lists.queries.entity, lists.queries.relation, lists.candidates.entities])
    _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return lists[first], place.reshape(-1)


def labels(lists: Lists, answers: KnownAnswers) -> Bools:
    """Which candidates are among these answers of their query, (query, candidate); pads never are."""
    return answers.of_queries(lists.queries).contains(lists.candidates.entities)
