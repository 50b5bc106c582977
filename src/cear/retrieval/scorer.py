"""A scorer: a retriever whose weights are learned by gradients, and one whose score is a dot product."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor, nn

from cear.core.devices import device_of
from cear.core.errors import ConfigError
from cear.core.types import Ints, Queries
from cear.retrieval.objective import Objective


class Scorer(nn.Module, ABC):
    """Scores facts; higher is better. Relation r + R is the reciprocal of r, with parameters of its own.

    A subclass says two things that must agree: `score` of given facts, and `score_all` of every entity as the answer
    of a query. Integers come as arrays; what has the vectors makes tensors of them, on its device.
    """

    objective: Objective = Objective()
    """What its training minimised, where that is known: vectors of new entities are found by it, too."""

    def __init__(self, n_entities: int, n_relations: int) -> None:
        super().__init__()
        self.n_entities = n_entities
        self.n_relations = n_relations

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return device_of(self)

    @abstractmethod
    def score(self, facts: Ints) -> Tensor:
        """The score of each fact (s, r, o), (fact, 3) -> (fact,)."""

    @abstractmethod
    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The score of every entity, or of those in `among`, as the answer: (query, entity)."""

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        """The score of the entities in each query's row, (query, candidate)."""
        k = entities.shape[1]
        asked = np.repeat(np.stack([queries.entity, queries.relation], axis=1), k, axis=0)
        return self.score(np.column_stack([asked, entities.reshape(-1)])).view(entities.shape)

    @abstractmethod
    def entity_moduli(self, entities: Ints) -> Tensor:
        """|e| of each coordinate of these entities, (entity, rank): what a regulariser punishes."""

    @abstractmethod
    def relation_moduli(self, relations: Ints) -> Tensor:
        """|r| of each coordinate of these relations, (relation, rank)."""

    def score_relations(self, facts: Ints) -> Tensor:
        """The score of every relation, reciprocals too, between s and o of each fact: (fact, 2R)."""
        del facts
        raise ConfigError(
            f"{type(self).__name__} has no relation prediction. Leave relation_prediction out, "
            "or use a model that has it: complex, distmult."
        )


class DotProductScorer(Scorer):
    """A scorer whose score is `query vector · entity vector`, so that top-k is a matrix product."""

    @abstractmethod
    def query_vectors(self, queries: Queries) -> Tensor:
        """One vector per query, (query, width)."""

    @abstractmethod
    def entity_vectors(self, among: Ints | None = None) -> Tensor:
        """One vector per entity, (entity, width)."""

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The dot product of each query with each entity, (query, entity)."""
        return self.query_vectors(queries) @ self.entity_vectors(among).T

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        """The dot product of each query with the entities in its row, (query, candidate)."""
        vectors = self.entity_vectors(entities.reshape(-1))
        return (vectors.view(*entities.shape, -1) @ self.query_vectors(queries).unsqueeze(-1)).squeeze(-1)
