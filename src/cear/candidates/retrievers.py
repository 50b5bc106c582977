"""Stage 1 and the retrievers beside it: lists that hold the best of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cear.candidates.scored import Scored, block_rows, score_block
from cear.core.blocks import blocks
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, Candidates, Floats, Ints, Queries
from cear.data import KnowledgeBase, KnownAnswers
from cear.retrieval import Retriever, SlowToRank


@dataclass(frozen=True, eq=False)
class Found:
    """Candidates of some queries, and what the extra retrievers say of them."""

    candidates: Candidates
    extra_scores: Floats  # (query, candidate, extra retriever); -inf where padded


@dataclass(frozen=True, eq=False)
class Retrievers:
    """Stage 1 and, by name, the retrievers beside it; all have learned from the training facts of `kb` alone."""

    kb: KnowledgeBase
    first: Retriever
    extra: Mapping[str, Retriever] = field(default_factory=dict)

    @property
    def block_rows(self) -> int:
        """How many queries are worked on at a time: memory is bounded, and progress is seen where each takes long."""
        if any(isinstance(each, SlowToRank) for each in (self.first, *self.extra.values())):
            return 1
        return block_rows(self.kb.n_entities, 1 + len(self.extra))

    def score_block(self, queries: Queries) -> list[Scored]:
        """What each retriever says of a block of queries, Stage 1 first."""
        return [score_block(each, queries) for each in (self.first, *self.extra.values())]

    def search(
        self, queries: Queries, k: int, *, drop: KnownAnswers | None = None, progress: Progress = silent
    ) -> Found:
        """The k entities of each query that stand highest in any retriever, in the order of Stage 1's scores."""
        parts = []
        with progress("Finding candidates", len(queries)) as bar:
            for block in blocks(len(queries), self.block_rows):
                parts.append(union(self.score_block(queries[block]), k, drop))
                bar.advance(block.stop - block.start)
        return _joined(parts, k, len(self.extra))


def union(scored: list[Scored], k: int, drop: KnownAnswers | None) -> Found:
    """The k entities of each query with the best place in any ranking, in the order of the first's scores."""
    best = [each.best(k, drop) for each in scored]
    if len(scored) == 1:
        return Found(best[0], np.zeros((*best[0].entities.shape, 0), np.float32))
    entities = _interleaved([each.entities for each in best], k)
    candidates = _in_order(entities, scored[0].of(entities).astype(np.float32))
    extra = np.stack([each.of(candidates.entities).astype(np.float32) for each in scored[1:]], axis=-1)
    return Found(candidates, extra)


def with_given(scored: list[Scored], found: Found, given: Ints) -> Found:
    """The same lists with a given entity in each, (query,): one that a list lacks takes its last place.

    `NO_ENTITY` leaves a list as it is. For judging given facts, true and false alike. A list that is measured by
    whether it holds its gold comes from `union`, which is given none.
    """
    entities = found.candidates.entities
    there = (given == NO_ENTITY) | (entities == given[:, None]).any(axis=1)
    entities = np.concatenate([entities[:, :-1], np.where(there, entities[:, -1], given)[:, None]], axis=1)
    candidates = _in_order(entities, scored[0].of(entities).astype(np.float32))
    extra = [each.of(candidates.entities).astype(np.float32) for each in scored[1:]]
    return Found(candidates, np.stack(extra, axis=-1) if extra else np.zeros((*entities.shape, 0), np.float32))


def _joined(parts: list[Found], k: int, extra: int) -> Found:
    if not parts:
        empty = Candidates(np.zeros((0, k), np.int64), np.zeros((0, k), np.float32))
        return Found(empty, np.zeros((0, k, extra), np.float32))
    entities = np.concatenate([part.candidates.entities for part in parts])
    scores = np.concatenate([part.candidates.scores for part in parts])
    return Found(Candidates(entities, scores), np.concatenate([part.extra_scores for part in parts]))


def _interleaved(rankings: list[Ints], k: int) -> Ints:
    """The k entities with the best place in any ranking, earlier rankings first where places are equal."""
    woven = np.stack(rankings, axis=2).reshape(len(rankings[0]), -1)  # first places, second places, …
    order = np.argsort(woven, axis=1, kind="stable")
    ordered = np.take_along_axis(woven, order, axis=1)
    again = np.zeros_like(woven, bool)
    np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    taken = np.argsort(again | (woven == NO_ENTITY), axis=1, kind="stable")[:, :k]  # the new ones first, in their order
    kept = ~np.take_along_axis(again, taken, axis=1)
    return np.where(kept, np.take_along_axis(woven, taken, axis=1), NO_ENTITY)


def _in_order(entities: Ints, scores: Floats) -> Candidates:
    order = np.argsort(-scores, axis=1, kind="stable")
    return Candidates(np.take_along_axis(entities, order, axis=1), np.take_along_axis(scores, order, axis=1))
