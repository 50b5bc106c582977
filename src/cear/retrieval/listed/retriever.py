"""A retriever whose scores are what somebody listed."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from cear.core.errors import DataError
from cear.core.types import SPLITS, Bools, Floats, Ints, Queries
from cear.data import KnowledgeBase
from cear.retrieval.listed.names import spelled
from cear.retrieval.listed.rankings import Rankings


class ListedRetriever:
    """Listed entities have their scores; all others tie behind the last of them.

    It does not search by itself: whoever is not listed has a place too, and that is a tie with all the others.
    """

    def __init__(self, kb: KnowledgeBase, rankings: Rankings) -> None:
        self._kb, self.rankings = kb, rankings
        self.n_entities = kb.n_entities
        self._others = _below(rankings)

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The score of every entity, or of those in `among`, as the answer: (query, entity)."""
        rows = self._rows(queries)
        listed = self.rankings.entities.take(rows)
        scores = np.repeat(self._others[rows, None], self.n_entities, axis=1)
        scores[listed.rows, listed.values] = self._scores_of(rows)
        return torch.from_numpy(scores if among is None else scores[:, among])

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        """The score of the entities in each query's row, (query, candidate)."""
        return self.score_all(queries).gather(1, torch.from_numpy(entities))

    def has(self, queries: Queries) -> Bools:
        """Which queries have a list, (query,)."""
        return np.asarray(self.rankings.rows(queries, self.n_entities) >= 0)

    def _rows(self, queries: Queries) -> Ints:
        """The place of each query's list; a query without one is refused."""
        rows = self.rankings.rows(queries, self.n_entities)
        missing = np.flatnonzero(rows < 0)
        if len(missing):
            raise DataError(self._lacking(queries[missing]))
        return rows

    def _lacking(self, queries: Queries) -> str:
        """What to say when these queries have no list."""
        example = spelled(self._kb, int(queries.entity[0]), int(queries.relation[0]))
        listed = {split: self.has(self._kb.queries(split).distinct()[0]) for split in SPLITS}
        counts = ", ".join(f"{int(has.sum()):,} of {len(has):,} {split} queries" for split, has in listed.items())
        return (
            f"There is no list for {example}. The files have lists for {counts}. Add the others: an evaluation asks "
            "both questions of every test fact, a re-ranker learns by those of valid facts, and with `crossfit: null` "
            "from those of training facts."
        )

    def _scores_of(self, rows: Ints) -> Floats:
        """The scores of these lists, one list after the other, (value,)."""
        every = self.rankings.entities
        places = every.take(rows)
        first = np.repeat(every.offsets[rows] - places.offsets[:-1], places.counts)
        return self.rankings.scores[first + np.arange(len(places.values))]


def _below(rankings: Rankings) -> Floats:
    """A score below the least of each list, (list,); that of all who are not in it."""
    least = np.zeros(len(rankings))
    counts, ends = rankings.entities.counts, rankings.entities.offsets[1:]
    least[counts > 0] = rankings.scores[ends[counts > 0] - 1]  # best first, so the last is the least
    return np.minimum(least - 1, np.nextafter(least, -np.inf))  # 1 is nothing beside a score of 1e20
