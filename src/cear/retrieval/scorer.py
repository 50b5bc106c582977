"""The contract of Stage 1: what a retriever is, a scorer that can be trained, and one that is a dot product."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from cear.core.errors import ConfigError
from cear.core.progress import Progress, silent
from cear.core.types import Candidates, Ints, Queries
from cear.data import KnownAnswers


class Retriever(Protocol):
    """Anything that scores all or some entities as the answer of a query: a `Scorer`, rules, or yours."""

    @property
    def n_entities(self) -> int:
        """The number of entities that are ranked."""

    def score_all(self, queries: Queries, among: Tensor | None = None) -> Tensor:
        """The score of every entity, or of those in `among`, as the answer: (query, candidate), all finite."""


@runtime_checkable
class SearchesItself(Retriever, Protocol):
    """A retriever that finds its best entities without scoring all of them; `cear.retrieval.top_k` leaves it to it."""

    def top_k(
        self, queries: Queries, k: int, *, drop: KnownAnswers | None = None, progress: Progress = silent
    ) -> Candidates:
        """The k best entities of each query, exactly; those of `drop` left out."""


class Scorer(nn.Module, ABC):
    """Scores facts; higher is better. Relation r + R is the reciprocal of r, with parameters of its own.

    A subclass says two things that must agree: `score` of given facts, and `score_all` of every entity
    as the answer of a query. It is built from the sizes of the knowledge base, its settings, and a generator for
    the fresh embeddings.
    """

    def __init__(self, n_entities: int, n_relations: int) -> None:
        super().__init__()
        self.n_entities = n_entities
        self.n_relations = n_relations

    @abstractmethod
    def score(self, facts: Tensor) -> Tensor:
        """The score of each fact (s, r, o), (fact, 3) -> (fact,)."""

    @abstractmethod
    def score_all(self, queries: Queries, among: Tensor | None = None) -> Tensor:
        """The score of every entity, or of those in `among`, as the answer: (query, candidate)."""

    @abstractmethod
    def entity_moduli(self, entities: Tensor) -> Tensor:
        """|e| of each coordinate of these entities, (entity, rank): what a regulariser punishes."""

    @abstractmethod
    def relation_moduli(self, relations: Tensor) -> Tensor:
        """|r| of each coordinate of these relations, (relation, rank)."""

    def score_relations(self, facts: Tensor) -> Tensor:
        """The score of every relation, reciprocals too, between s and o of each fact: (fact, 2R)."""
        del facts
        raise ConfigError(
            f"{type(self).__name__} has no relation prediction. Set relation_prediction to 0, "
            "or use a model that has it: complex, distmult."
        )


class DotProductScorer(Scorer):
    """A scorer whose score is `query vector · entity vector`, so that top-k is a matrix product."""

    @abstractmethod
    def query_vectors(self, queries: Queries) -> Tensor:
        """One vector per query, (query, width)."""

    @abstractmethod
    def entity_vectors(self, among: Tensor | None = None) -> Tensor:
        """One vector per entity, (entity, width)."""

    def score_all(self, queries: Queries, among: Tensor | None = None) -> Tensor:
        """The dot product of each query with each entity, (query, candidate)."""
        return self.query_vectors(queries) @ self.entity_vectors(among).T


class Vectors(Protocol):
    """Anything that has a vector for each of its rows: an `Embedding`, or an encoder of names."""

    def __call__(self, index: Tensor | Ints | None) -> Tensor:
        """The vectors of these rows, or all of them for None."""


class Embedding(nn.Module):
    """A table of vectors, (row, width), that starts as `scale` times a standard normal."""

    def __init__(self, rows: int, width: int, *, scale: float, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(rows, width, generator=generator) * scale)
        self.sparse = False  # whether the gradient of a lookup holds its rows alone

    if TYPE_CHECKING:  # nn.Module is called with anything and returns anything; ours does not

        def __call__(self, index: Tensor | Ints | None) -> Tensor:
            """The vectors of these rows."""

    def forward(self, index: Tensor | Ints | None) -> Tensor:
        """The vectors of these rows, or all of them for None."""
        if index is None:
            return self.weight
        return nn.functional.embedding(torch.as_tensor(index), self.weight, sparse=self.sparse)
