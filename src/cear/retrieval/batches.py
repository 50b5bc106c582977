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

from cear.data import KnownAnswers
from cear.nouns import Ints, Queries, Ragged


@dataclass(frozen=True, eq=False)
class Batch:
    """Distinct queries, their training answers, and the entities that are scored."""

    queries: Queries
    answers: Ragged
    among: Ints | None  # (candidate,), ascending; None means every entity

    @cached_property
    def facts(self) -> Tensor:
        """One fact (s, r, o) per answer, reciprocal ones included, (fact, 3)."""
        rows = self.answers.rows
        return torch.from_numpy(
            np.stack([self.queries.entity[rows], self.queries.relation[rows], self.answers.values], axis=1)
        )

    @cached_property
    def cells(self) -> tuple[Tensor, Tensor]:
        """Row and column of each answer in the matrix of scores, (fact,) each."""
        columns = self.answers.values
        if self.among is not None:
            columns = np.searchsorted(self.among, columns)
        return torch.from_numpy(self.answers.rows), torch.from_numpy(columns)

    @cached_property
    def counts(self) -> Tensor:
        """The number of answers of each query, (query,)."""
        return torch.from_numpy(self.answers.counts).float()


class TrainingQueries:
    """The distinct queries of the training facts, dealt into batches.

    Each random choice is a function of (seed, epoch, step), so a training that stops can go on exactly.
    """

    def __init__(self, known: KnownAnswers, n_entities: int, *, size: int, negatives: int | None, seed: int) -> None:
        self._queries, self._answers = known.queries, known.answers
        self._n_entities = n_entities
        self._size = size
        self._negatives = negatives if negatives is not None and negatives < n_entities else None
        self._seed = seed

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        return -(-len(self._queries) // self._size)

    def epoch(self, epoch: int, *, first: int = 0) -> Iterator[Batch]:
        """The batches of one pass over the queries, from batch `first` on."""
        order = np.random.default_rng([self._seed, epoch]).permutation(len(self._queries))
        for step in range(first, len(self)):
            rows = order[step * self._size : (step + 1) * self._size]
            answers = self._answers.take(rows)
            queries = self._queries[rows]
            yield Batch(queries, answers, self.competitors(queries, answers, epoch, step))

    def competitors(self, queries: Queries, answers: Ragged, epoch: int, step: int) -> Ints | None:
        """Every entity, or a uniform sample that all queries of the batch share, with their answers."""
        del queries
        if self._negatives is None:
            return None
        rng = np.random.default_rng([self._seed, epoch, step])
        sample = rng.choice(self._n_entities, self._negatives, replace=False)
        return np.union1d(sample, answers.values)
