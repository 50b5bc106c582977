"""DistMult (Yang et al. 2015): ⟨s, r, o⟩ = Σ s r o."""

from __future__ import annotations

import torch
from torch import Tensor

from cear.core.types import Queries
from cear.retrieval.config import Stage1Config
from cear.retrieval.scorer import DotProductScorer, Embedding


class DistMult(DotProductScorer):
    """A diagonal bilinear form; with reciprocal relations it is no longer bound to be symmetric."""

    def __init__(self, n_entities: int, n_relations: int, config: Stage1Config, generator: torch.Generator) -> None:
        super().__init__(n_entities, n_relations)
        rank, scale = config.rank, config.init_scale
        self.entity = Embedding(n_entities, rank, scale=scale, generator=generator)
        self.relation = Embedding(2 * n_relations, rank, scale=scale, generator=generator)

    def score(self, facts: Tensor) -> Tensor:
        """Σ s r o."""
        s, r, o = facts.T
        return (self.entity(s) * self.relation(r) * self.entity(o)).sum(-1)

    def query_vectors(self, queries: Queries) -> Tensor:
        """The elementwise product s r."""
        return self.entity(queries.entity) * self.relation(queries.relation)

    def entity_vectors(self, among: Tensor | None = None) -> Tensor:
        """The entity embeddings."""
        return self.entity(among)

    def score_relations(self, facts: Tensor) -> Tensor:
        """Σ s o r for every relation r."""
        s, _, o = facts.T
        return (self.entity(s) * self.entity(o)) @ self.relation.weight.T

    def entity_moduli(self, entities: Tensor) -> Tensor:
        """|e|."""
        return self.entity(entities).abs()

    def relation_moduli(self, relations: Tensor) -> Tensor:
        """|r|."""
        return self.relation(relations).abs()
