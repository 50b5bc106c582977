"""What one retriever says of a block of queries: its best entities, its scores of given ones, their ranks.

A retriever that can hold the scores of all entities for the block computes them once, and everything is read off that
matrix: rules fire once a query, and a score is the same number wherever it is used. One that searches by itself, or
has too many entities for that, is asked again.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch

from cear.core.blocks import BUDGET, rows_within
from cear.core.types import NO_ENTITY, Candidates, Floats, Ints, Queries
from cear.data import KnownAnswers
from cear.evaluation import checked_scores
from cear.retrieval import Retriever, SearchesItself, best_of, candidate_scores, top_k

LEAST_ROWS = 64  # queries of a block whose scores of all entities have to fit into the budget
UNSEEN = 0  # the rank of an entity that a search did not reach


class Scored(Protocol):
    """The scores of one retriever for a block of queries."""

    def best(self, k: int, drop: KnownAnswers | None) -> Candidates:
        """The k best entities of each query; those of `drop` left out."""

    def of(self, entities: Ints) -> Floats:
        """The scores of the entities in each query's row, (query, candidate); -inf where padded."""

    def ranks(self, entities: Ints, drop: KnownAnswers) -> Ints:
        """The rank, 1 is best, of each entity among all but those of `drop`; `UNSEEN` where it is not known."""


def score_block(retriever: Retriever, queries: Queries) -> Scored:
    """What a retriever says of these queries."""
    if isinstance(retriever, SearchesItself) or not scores_everybody(retriever.n_entities):
        return SearchedScores(retriever, queries)
    return AllScores(checked_scores(retriever, queries), queries)


def scores_everybody(n_entities: int) -> bool:
    """Whether the scores of all entities are held for a block of queries."""
    return 4 * n_entities * LEAST_ROWS <= BUDGET


def block_rows(n_entities: int, matrices: int) -> int:
    """How many queries make a block, when so many retrievers hold their scores of all entities."""
    return min(rows_within(4 * n_entities * max(matrices, 1), least=LEAST_ROWS), 4096)


class AllScores:
    """Scores of all entities, (query, entity)."""

    def __init__(self, scores: Floats, queries: Queries) -> None:
        self.scores, self._queries = scores, queries

    def best(self, k: int, drop: KnownAnswers | None) -> Candidates:
        """The k best entities of each query; those of `drop` left out."""
        known = None if drop is None else drop.of_queries(self._queries)
        return best_of(torch.from_numpy(self.scores), k, known)

    def of(self, entities: Ints) -> Floats:
        """The scores of the entities in each query's row."""
        found = np.take_along_axis(self.scores, np.maximum(entities, 0), axis=1)
        return np.where(entities == NO_ENTITY, -np.inf, found)

    def ranks(self, entities: Ints, drop: KnownAnswers) -> Ints:
        """One more than how many score higher, those of `drop` not counted."""
        known, wanted = drop.of_queries(self._queries), self.of(entities)
        ranks = np.empty(entities.shape, np.int64)
        for row, scores in enumerate(self.scores):
            limits = np.sort(wanted[row])  # N log k comparisons; sorting all of them would take N log N
            above = _above(scores, limits) - _above(scores[known.row(row)], limits)
            ranks[row] = 1 + above[np.searchsorted(limits, wanted[row])]
        return np.where(entities == NO_ENTITY, UNSEEN, ranks)


def _above(scores: Floats, limits: Floats) -> Ints:
    """How many scores are greater than each of these limits, ascending, (limit,)."""
    at_most = np.bincount(np.searchsorted(limits, scores), minlength=len(limits) + 1)  # first limit not below each
    return len(scores) - np.cumsum(at_most)[: len(limits)]


class SearchedScores:
    """A retriever that is asked for what is wanted."""

    def __init__(self, retriever: Retriever, queries: Queries) -> None:
        self._retriever, self._queries = retriever, queries

    def best(self, k: int, drop: KnownAnswers | None) -> Candidates:
        """The k best entities of each query; those of `drop` left out."""
        return top_k(self._retriever, self._queries, min(k, self._retriever.n_entities), drop=drop)

    def of(self, entities: Ints) -> Floats:
        """The scores of the entities in each query's row."""
        return candidate_scores(self._retriever, self._queries, entities)

    def ranks(self, entities: Ints, drop: KnownAnswers) -> Ints:
        """The same among the best, as many as are asked about; whoever is further down is `UNSEEN`."""
        best = self.best(entities.shape[1], drop)
        same = (entities[:, :, None] == best.entities[:, None, :]) & (entities != NO_ENTITY)[:, :, None]
        scores = np.take_along_axis(best.scores, same.argmax(axis=2), axis=1)
        above = (best.scores[:, None, :] > scores[:, :, None]).sum(axis=2)
        return np.where(same.any(axis=2), 1 + above, UNSEEN)
