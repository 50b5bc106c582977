"""What a training step sees: distinct queries, where their answers are, and which entities compete.

Every fact asks two queries, and many facts share one (FB15K-237: 544k questions, 150k distinct). Scoring
each distinct query once and counting every answer is the same objective, several times cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from cear.core.devices import tensor
from cear.core.types import Floats, Ints, Queries, Ragged
from cear.data import KnownAnswers


@dataclass(frozen=True, eq=False)
class Batch:
    """Distinct queries, their training answers, and the entities that are scored."""

    queries: Queries
    answers: Ragged
    among: Ints | None  # (candidate,), ascending; None means every entity
    weights: Floats | None = None  # (fact,); None means that every fact counts once

    @cached_property
    def facts(self) -> Ints:
        """One fact (s, r, o) per answer, reciprocal ones included, (fact, 3)."""
        rows = self.answers.rows
        return np.stack([self.queries.entity[rows], self.queries.relation[rows], self.answers.values], axis=1)

    def cells(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Row and column of each answer in the matrix of scores, (fact,) each."""
        columns = self.answers.values
        if self.among is not None:
            columns = np.searchsorted(self.among, columns)
        return tensor(self.answers.rows, device), tensor(columns, device)

    def counts(self, device: torch.device) -> Tensor:
        """The number of answers of each query, (query,)."""
        return tensor(self.answers.counts.astype(np.float32), device)

    def fact_weights(self, device: torch.device) -> Tensor:
        """How much each fact counts, (fact,)."""
        if self.weights is None:
            return torch.ones(len(self.answers.values), device=device)
        return tensor(self.weights.astype(np.float32), device)

    def split(self, parts: int) -> list[tuple[Batch, float]]:
        """The queries in so many parts, each with its share of the facts: the shares of their losses add up."""
        if parts == 1:
            return [(self, 1.0)]
        rows = np.array_split(np.arange(len(self.queries)), parts)
        total = self._weight(np.arange(len(self.queries)))
        return [(self._take(some), self._weight(some) / total) for some in rows if len(some)]

    def _take(self, rows: Ints) -> Batch:
        return Batch(self.queries[rows], self.answers.take(rows), self.among, self._weights_of(rows))

    def _weights_of(self, rows: Ints) -> Floats | None:
        if self.weights is None:
            return None
        return self.weights[Ragged(self.answers.offsets, np.arange(len(self.weights))).take(rows).values]

    def _weight(self, rows: Ints) -> float:
        weights = self._weights_of(rows)
        return float(self.answers.counts[rows].sum() if weights is None else weights.sum())


class TrainingQueries:
    """The distinct queries of the training facts, dealt into batches.

    Each random choice is a function of (seed, epoch, step), so a training that stops can go on exactly.
    """

    def __init__(
        self,
        known: KnownAnswers,
        n_entities: int,
        *,
        size: int,
        negatives: int | None,
        seed: int,
        weights: Floats | None = None,
    ) -> None:
        """`weights` says how much each fact counts, (fact,), in the order of the known answers."""
        self._queries, self._answers, self._weights = known.queries, known.answers, weights
        self._n_entities = n_entities
        self._size = size
        self._negatives = negatives if negatives is not None and negatives < n_entities else None
        self._seed = seed

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        return -(-len(self._queries) // self._size)

    def epoch(self, epoch: int, *, first: int = 0) -> Iterator[Batch]:
        """The batches of one pass over the queries, from batch `first` on."""
        order = self.order(epoch)
        for step in range(first, len(self)):
            rows = order[step * self._size : (step + 1) * self._size]
            answers = self._answers.take(rows)
            queries = self._queries[rows]
            competitors = self.competitors(queries, answers, epoch, step)
            yield Batch(queries, answers, competitors, self._weights_of(rows))

    def order(self, epoch: int) -> Ints:
        """The order in which an epoch takes the queries, (query,): any."""
        return np.random.default_rng([self._seed, epoch]).permutation(len(self._queries))

    def _weights_of(self, rows: Ints) -> Floats | None:
        if self._weights is None:
            return None
        places = Ragged(self._answers.offsets, np.arange(len(self._weights))).take(rows)
        return self._weights[places.values]

    def competitors(self, queries: Queries, answers: Ragged, epoch: int, step: int) -> Ints | None:
        """Every entity, or a uniform sample that all queries of the batch share, with their answers."""
        del queries
        if self._negatives is None:
            return None
        rng = np.random.default_rng([self._seed, epoch, step])
        sample = rng.choice(self._n_entities, self._negatives, replace=False)
        return np.union1d(sample, answers.values)


def subsampling_weights(known: KnownAnswers, n_relations: int) -> Floats:
    """1 / √(answers of a fact's two questions + 8), (fact,): what is asked often counts less (Sun et al. 2019).

    Their code starts each of the two counts at 4.
    """
    queries, answers = known.queries, known.answers
    rows = answers.rows
    width = 1 + max(int(queries.entity.max(initial=0)), int(answers.values.max(initial=0)))
    asked = queries.relation * width + queries.entity
    asked_back = (queries.relation[rows] + n_relations) % (2 * n_relations) * width + answers.values
    order = np.argsort(asked)
    there = answers.counts[order[np.searchsorted(asked, asked_back, sorter=order)]]
    weights: Floats = 1 / np.sqrt(answers.counts[rows] + there + 8.0)
    return weights
