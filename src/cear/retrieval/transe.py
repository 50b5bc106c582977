"""TransE (Bordes et al. 2013): -‖s + r - o‖."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from cear.core.types import Ints, Queries
from cear.retrieval.distances import Distance, DistanceConfig
from cear.retrieval.embeddings import Embeddings
from cear.retrieval.over_embeddings import OverEmbeddings


class TransE(OverEmbeddings):
    """A relation is a translation; the score is minus the distance that remains."""

    def __init__(self, embeddings: Embeddings, rank: int, distance: Distance) -> None:
        super().__init__(embeddings.n_entities, embeddings.n_relations)
        self.distance = distance
        self.entity = embeddings.entities(rank)
        self.relation = embeddings.relations(rank, inverse=torch.neg)

    def score(self, facts: Ints) -> Tensor:
        """-‖s + r - o‖."""
        s, r, o = facts.T
        return -self.distance.of_pairs(self.entity(s) + self.relation(r), self.entity(o))

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """-‖(s + r) - o‖ for every entity o."""
        moved = self.entity(queries.entity) + self.relation(queries.relation)
        return -self.distance.of_all(moved, self.entity(among))

    def entity_moduli(self, entities: Ints) -> Tensor:
        """|e|."""
        return self.entity(entities).abs()

    def relation_moduli(self, relations: Ints) -> Tensor:
        """|r|."""
        return self.relation(relations).abs()


class TransEConfig(DistanceConfig):
    """TransE and how it is trained."""

    model: Literal["transe"] = "transe"
    """Which retriever."""

    def scorer(self, embeddings: Embeddings) -> TransE:
        """TransE over these embeddings."""
        return TransE(embeddings, self.rank, Distance(self.norm, self.squared, complex_pairs=False))
