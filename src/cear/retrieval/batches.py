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

    @property
    def weight(self) -> float:
        """What its facts count together."""
        return float(len(self.answers.values) if self.weights is None else self.weights.sum())

    def split(self, parts: int) -> list[Batch]:
        """The queries in so many parts, or in fewer where there are not as many queries."""
        if parts == 1:
            return [self]
        rows = np.array_split(np.arange(len(self.queries)), parts)
        return [self._take(some) for some in rows if len(some)]

    def _take(self, rows: Ints) -> Batch:
        weights = None if self.weights is None else _of_rows(self.weights, self.answers, rows)
        return Batch(self.queries[rows], self.answers.take(rows), self.among, weights)


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
            weights = None if self._weights is None else _of_rows(self._weights, self._answers, rows)
            yield Batch(queries, answers, competitors, weights)

    def order(self, epoch: int) -> Ints:
        """The order in which an epoch takes the queries, (query,): any."""
        return np.random.default_rng([self._seed, epoch]).permutation(len(self._queries))

    def competitors(self, queries: Queries, answers: Ragged, epoch: int, step: int) -> Ints | None:
        """Every entity, or a uniform sample that all queries of the batch share, with their answers."""
        del queries
        if self._negatives is None:
            return None
        rng = np.random.default_rng([self._seed, epoch, step])
        sample = rng.choice(self._n_entities, self._negatives, replace=False)
        return np.union1d(sample, answers.values)


def _of_rows(weights: Floats, answers: Ragged, rows: Ints) -> Floats:
    """The weights of the answers of these rows; `weights` has one for each answer of every row."""
    return weights[Ragged(answers.offsets, np.arange(len(weights))).take(rows).values]


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
