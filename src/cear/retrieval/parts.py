"""Entities in parts: the exact best k where no machine holds all entity vectors.

Each part has a slice of the vectors. It is handed the vectors of the queries, block by block, finds the best k of its
own entities, and the lists of all parts are merged by score and number. A slice begins where a block of the search over
all entities begins, and its products have the shapes of those blocks, so the result is that of one process to the last
bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from cear.core.blocks import blocks
from cear.core.devices import array
from cear.core.progress import Progress, silent
from cear.core.tensors import map_tensors
from cear.core.types import NO_ENTITY, Candidates, Floats, Ints, Queries, Ragged
from cear.data import KnownAnswers
from cear.retrieval.scorer import DotProductScorer
from cear.retrieval.search import best_in_blocks, no_lists, product_shape

Pending = Callable[[], Candidates]
"""A list that is being made; called, it is there."""

_AHEAD = 2  # blocks of queries that parts have before them, so that none waits for the others


def slices_of(n_entities: int, n_parts: int, *, memory_mb: int = 256) -> list[slice]:
    """At most so many slices of the entities, about equal, each of whole blocks of the search over all.

    >>> slices_of(100_000, 3)
    [slice(0, 36864, None), slice(36864, 73728, None), slice(73728, 100000, None)]
    >>> slices_of(50_000, 3)  # these are searched in one block
    [slice(0, 50000, None)]
    """
    columns = product_shape(1, n_entities, memory_mb)[1]
    n_blocks = -(-n_entities // columns)
    return [*blocks(n_entities, -(-n_blocks // max(n_parts, 1)) * columns)]


class Part(Protocol):
    """Whoever has a slice of the entities, here or elsewhere."""

    def ask(self, vectors: Floats, k: int, known: Ragged | None) -> Pending:
        """Begin to find the best k of its entities for each of these query vectors, (query, width)."""


@dataclass(frozen=True, eq=False)
class EntityPart:
    """The vectors of a slice of the entities, (entity, width), from number `first` on."""

    vectors: Tensor
    first: int
    columns: int
    """Entities that are multiplied at a time, in a search over all entities."""

    @classmethod
    def mapped(cls, path: Path, name: str, among: slice, *, memory_mb: int = 256) -> EntityPart:
        """The slice of a matrix in a file, mapped into memory: what is not looked at is not read."""
        rows = map_tensors(path)[name]
        return cls(rows[among], among.start, product_shape(1, len(rows), memory_mb)[1])

    @property
    def entities(self) -> slice:
        """Its entities, by number."""
        return slice(self.first, self.first + len(self.vectors))

    def best(self, vectors: Floats, k: int, known: Ragged | None) -> Candidates:
        """The best k of its entities for each of these query vectors, (query, width)."""
        asked = torch.from_numpy(np.require(vectors, requirements=["C", "W"]))

        def score(part: slice) -> Tensor:
            # A copy: products of vectors that lie elsewhere in memory may differ in their last bits.
            return asked @ self.vectors[part.start - self.first : part.stop - self.first].clone().T

        return best_in_blocks(score, self.entities, self.columns, k, known)

    def ask(self, vectors: Floats, k: int, known: Ragged | None) -> Pending:
        """Find them now."""
        found = self.best(vectors, k, known)
        return lambda: found


class InParts:
    """A product of vectors whose best entities are found by parts; it ranks what the scorer ranks, and equally.

    The scorer makes the vectors of queries and scores given entities. Where its rows are mapped from a file
    (`MappedRows`), it holds those that are asked about.
    """

    def __init__(self, scorer: DotProductScorer, parts: Sequence[Part], *, memory_mb: int = 256) -> None:
        self._scorer, self.parts, self._memory_mb = scorer, tuple(parts), memory_mb
        self.n_entities = scorer.n_entities

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The score of every entity, or of those in `among`: (query, entity)."""
        return self._scorer.score_all(queries, among)

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        """The score of the entities in each query's row, (query, candidate)."""
        return self._scorer.score_candidates(queries, entities)

    def top_k(
        self, queries: Queries, k: int, *, drop: KnownAnswers | None = None, progress: Progress = silent
    ) -> Candidates:
        """The k best entities of each query, exactly as one process finds them; those of `drop` left out."""
        found = [no_lists(k)]
        with progress("Searching", len(queries)) as bar:
            for lists in _ahead(self._asked(queries, k, drop), _AHEAD):
                found.append(merged([each() for each in lists], k))
                bar.advance(len(found[-1]))
        return Candidates.concat(found)

    def _asked(self, queries: Queries, k: int, drop: KnownAnswers | None) -> Iterator[list[Pending]]:
        """For each block of queries what every part was asked."""
        rows, _ = product_shape(len(queries), self.n_entities, self._memory_mb)
        for block in blocks(len(queries), rows):
            asked = queries[block]
            known = None if drop is None else drop.of_queries(asked)
            with torch.inference_mode():
                vectors = array(self._scorer.query_vectors(asked))
            yield [part.ask(vectors, k, known) for part in self.parts]


def merged(lists: Sequence[Candidates], k: int, order: Ints | None = None) -> Candidates:
    """The best k of the lists of several parts; of equal scores the entity that is first in `order`, (entity,).

    Without an order the lower number is first.
    """
    entities = np.concatenate([each.entities for each in lists], axis=1)
    scores = np.concatenate([each.scores for each in lists], axis=1)
    among_equals = entities if order is None else order[entities]
    best = np.lexsort((among_equals, -scores), axis=-1)[:, :k]  # padding has -inf, and is last
    entities, scores = np.take_along_axis(entities, best, axis=1), np.take_along_axis(scores, best, axis=1)
    short = [(0, 0), (0, k - scores.shape[1])]
    return Candidates(
        np.pad(entities, short, constant_values=NO_ENTITY), np.pad(scores, short, constant_values=-np.inf)
    )


def _ahead(asked: Iterator[list[Pending]], n: int) -> Iterator[list[Pending]]:
    """The same in the same order, with up to n more asked than are taken."""
    waiting: deque[list[Pending]] = deque()
    for each in asked:
        waiting.append(each)
        if len(waiting) > n:
            yield waiting.popleft()
    yield from waiting
