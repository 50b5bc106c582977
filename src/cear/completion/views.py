"""A fact as the answer of one of its two questions: what both stages say of it there, as features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cear.core.types import NO_ENTITY, Floats, Ints, Queries
from cear.ranking import Ranker, Reading
from cear.reranking import log_probabilities

VIEW_FEATURES = (
    "final score",
    "score of the last stage",
    "lead over the best other",
    "final rank",
    "Stage 1's score",
    "Stage 1's log-probability in the list",
    "Stage 1's rank in the list",
)
MONOTONE = (1, 1, 1, -1, 0, 0, 0)  # what the last stage says never counts against an answer
_OF_EXTRA = 2
_LOWEST = -50.0  # a log-probability; what is below says nothing more


def n_view_features(extra: int) -> int:
    """How many features a view has, with so many retrievers beside Stage 1."""
    return len(VIEW_FEATURES) + _OF_EXTRA * extra


@dataclass(frozen=True, eq=False)
class Views:
    """Answers of some queries, one row each."""

    query: Ints  # (row,): the place of its query among those asked
    answer: Ints  # (row,)
    features: Floats  # (row, feature): see `VIEW_FEATURES`, then two for each retriever beside Stage 1
    rank: Ints  # (row,): in the final order of its list, 1 is best

    def __len__(self) -> int:
        return len(self.query)

    def from_query(self, first: int) -> Views:
        """The same with queries counted from another place on."""
        return Views(self.query + first, self.answer, self.features, self.rank)

    @classmethod
    def concat(cls, parts: Sequence[Views]) -> Views:
        """The views of several blocks of queries, whose places go on."""
        columns = ("query", "answer", "features", "rank")
        return cls(*(np.concatenate([getattr(part, column) for part in parts]) for column in columns))


def best_views(ranker: Ranker, queries: Queries, n: int) -> Views:
    """The n best answers of each query that training facts do not know, in the order that is measured."""
    reading = ranker.read(queries)
    order = np.argsort(-reading.final, axis=1, kind="stable")[:, :n]
    row = np.broadcast_to(np.arange(len(order))[:, None], order.shape).reshape(-1)
    return _views(reading, row, order.reshape(-1))


def given_views(ranker: Ranker, queries: Queries, given: Ints) -> Views:
    """The given answer of each query, wherever it stands: for judging facts.

    A query that several answers are given for is read once, as `Ranker.read` reads it, for all that its list holds.
    """
    once, row = queries.distinct()
    alone, one = np.bincount(row, minlength=len(once)) == 1, np.zeros(len(once), np.int64)
    one[row] = given
    reading = ranker.read_given(once, np.where(alone, one, NO_ENTITY))
    same = reading.lists.candidates.entities[row] == given[:, None]
    place = same.argmax(axis=1)
    listed = same.any(axis=1) & ~np.isneginf(reading.final[row, place])
    seen, others = np.flatnonzero(listed), np.flatnonzero(~listed & ~alone[row])
    views = replace(_views(reading, row[seen], place[seen]), query=seen)
    if not len(others):
        return views
    behind = _views_of_each(ranker, queries[others], given[others])
    return Views.concat([views, replace(behind, query=others[behind.query])])


def _views_of_each(ranker: Ranker, queries: Queries, given: Ints) -> Views:
    """The same with a list for each answer, which takes its last place if it has none there."""
    reading = ranker.read_given(queries, given)
    place = (reading.lists.candidates.entities == given[:, None]).argmax(axis=1)
    return _views(reading, np.arange(len(queries)), place)


def _views(reading: Reading, row: Ints, place: Ints) -> Views:
    """The views of chosen places of the lists; padding and known answers are passed over."""
    entities = reading.lists.candidates.entities
    real = (entities[row, place] != NO_ENTITY) & ~np.isneginf(reading.final[row, place])
    row, place = row[real], place[real]
    ranks = _ranks(reading.final)
    features = np.column_stack([_said(reading, ranks)[row, place], _said_by_others(reading)[row, place]])
    return Views(row, entities[row, place], features.astype(np.float32), ranks[row, place])


def _said(reading: Reading, ranks: Ints) -> Floats:
    """What both stages say, (query, candidate, feature)."""
    final, stage1 = np.maximum(reading.final, _LOWEST), reading.lists.candidates.scores
    real = reading.lists.candidates.entities != NO_ENTITY
    columns = (
        final,
        np.where(real, reading.stage2, 0.0),
        np.maximum(final - _best_other(final), _LOWEST),
        np.log(ranks),
        np.where(real, stage1, 0.0),
        np.where(real, log_probabilities(reading.lists.candidates), 0.0),
        np.broadcast_to(np.log1p(np.arange(stage1.shape[1])), stage1.shape),
    )
    return np.stack(columns, axis=-1)


def _said_by_others(reading: Reading) -> Floats:
    """The score and the logarithm of the rank within the list by each retriever beside Stage 1."""
    extra = reading.lists.extra
    columns = [each for scores in np.moveaxis(extra, -1, 0) for each in (_finite(scores), np.log(_ranks(scores)))]
    shape = (*extra.shape[:2], 0)
    return np.stack(columns, axis=-1) if columns else np.zeros(shape, np.float32)


def _best_other(scores: Floats) -> Floats:
    """For each place the best score of all other places, (query, candidate)."""
    if scores.shape[1] == 1:
        return np.full(scores.shape, _LOWEST)
    second, first = np.partition(scores, -2, axis=1)[:, -2:].T[..., None]
    return np.asarray(np.where(scores == first, second, first))


def _ranks(scores: Floats) -> Ints:
    """The rank of each place in its row, (query, candidate), 1 is best; of equal ones the first."""
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.asarray(np.argsort(order, axis=1, kind="stable") + 1)


def _finite(scores: Floats) -> Floats:
    return np.where(np.isfinite(scores), scores, 0.0)
