"""A ranker that remembers what both stages said of the last queries: many questions share some of them.

The question that was asked is read once more for the probabilities of its answers, and ⟨?, profession, actor⟩ for
every actor that somebody asks about. What is remembered is what would be computed again: a score depends on its query,
or on its own list, alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from cear.candidates import Lists, scores_everybody
from cear.core.progress import Progress, silent
from cear.core.types import Floats, Ints, Queries
from cear.ranking import Ranker
from cear.reranking import Reranker
from cear.retrieval import Retriever, SearchesItself, SlowToRank

BYTES = 128 * 2**20  # that the scores of each retriever, and of the re-ranker, may take

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def remembering(ranker: Ranker, most_bytes: int = BYTES) -> Ranker:
    """The same ranker, whose stages keep their scores of the last queries and lists."""
    second = None if ranker.reranker is None else RememberingReranker(ranker.reranker, ranker.k, most_bytes)
    ranker = replace(ranker, reranker=second)
    if not scores_everybody(ranker.kb.n_entities):  # there are too many to hold the scores of
        return ranker
    first, *others = (_kept(each, most_bytes) for each in (ranker.retrievers.first, *ranker.retrievers.extra.values()))
    extra = dict(zip(ranker.retrievers.extra, others, strict=True))
    return replace(ranker, retrievers=replace(ranker.retrievers, first=first, extra=extra))


def _kept(retriever: Retriever, most_bytes: int) -> Retriever:
    """Who searches by itself, or is asked one query at a time, stays as it is: the ranker looks for that."""
    return retriever if isinstance(retriever, SearchesItself | SlowToRank) else Remembering(retriever, most_bytes)


class Recent(Generic[K, V]):
    """The values that were used last, so many of them. Threads may share it."""

    def __init__(self, most: int) -> None:
        self._most = max(most, 1)
        self._values: OrderedDict[K, V] = OrderedDict()  # the last used are last
        self._turn = Lock()

    def get(self, keys: Sequence[K], make: Callable[[list[int]], Sequence[V]]) -> list[V]:
        """The value of each key; `make` is asked for those that are lacking, by their places."""
        with self._turn:
            found = {key: self._values[key] for key in keys if key in self._values}
            for key in found:
                self._values.move_to_end(key)
        lacking = [place for place, key in enumerate(keys) if key not in found]
        if lacking:
            made = {keys[place]: value for place, value in zip(lacking, make(lacking), strict=True)}
            self._keep(made)
            found |= made
        return [found[key] for key in keys]

    def _keep(self, made: dict[K, V]) -> None:
        with self._turn:
            self._values.update(made)
            while len(self._values) > self._most:
                self._values.popitem(last=False)


class Remembering:
    """A retriever that keeps its scores of the last queries, in so many bytes."""

    def __init__(self, retriever: Retriever, most_bytes: int = BYTES) -> None:
        self._retriever = retriever
        self._recent: Recent[tuple[int, int], Tensor] = Recent(most_bytes // (4 * retriever.n_entities))

    @property
    def n_entities(self) -> int:
        """The number of entities that are ranked."""
        return self._retriever.n_entities

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The score of every entity, or of those in `among`, (query, entity): remembered, or asked for."""
        if not len(queries):
            return self._retriever.score_all(queries, among)

        def asked(places: list[int]) -> Sequence[Tensor]:
            made = self._retriever.score_all(queries[np.array(places)])
            return [row.clone() for row in made]  # a row that is no copy would keep all the others

        keys = [*zip(queries.entity.tolist(), queries.relation.tolist(), strict=True)]
        scores = torch.stack(self._recent.get(keys, asked))
        return scores if among is None else scores[:, torch.from_numpy(among).to(scores.device)]

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        """The scores of the entities in each query's row, (query, candidate)."""
        return self._retriever.score_candidates(queries, entities)


class RememberingReranker:
    """A re-ranker that keeps its scores of the last lists, in so many bytes."""

    def __init__(self, reranker: Reranker, k: int, most_bytes: int = BYTES) -> None:
        """`k` is how many candidates a list has: 4 bytes each for scores, 8 for the key, and what Python needs."""
        self._reranker = reranker
        self._recent: Recent[tuple[int, int, bytes], Floats] = Recent(most_bytes // (12 * k + 500))

    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        """A score for each candidate, (list, candidate): remembered, or asked for."""
        entities, queries = lists.candidates.entities, lists.queries
        if not len(lists):
            return self._reranker.rerank(lists, progress=progress)

        def read(places: list[int]) -> Sequence[Floats]:
            made = self._reranker.rerank(lists[np.array(places)], progress=progress)
            return [row.copy() for row in made]  # as above

        rows = zip(queries.entity.tolist(), queries.relation.tolist(), entities, strict=True)
        keys = [(entity, relation, row.tobytes()) for entity, relation, row in rows]
        return np.stack(self._recent.get(keys, read))
