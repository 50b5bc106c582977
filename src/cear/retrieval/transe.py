"""TransE (Bordes et al. 2013): -‖s + r - o‖."""

from __future__ import annotations

import torch
from torch import Tensor

from cear.core.types import Queries
from cear.retrieval.config import Stage1Config
from cear.retrieval.distances import Distance
from cear.retrieval.scorer import Embedding, Scorer


class TransE(Scorer):
    """A relation is a translation; the score is minus the distance that remains."""

    def __init__(self, n_entities: int, n_relations: int, config: Stage1Config, generator: torch.Generator) -> None:
        super().__init__(n_entities, n_relations)
        rank, scale = config.rank, config.init_scale
        self.distance = Distance(config.norm, config.squared, complex_pairs=False)
        self.entity = Embedding(n_entities, rank, scale=scale, generator=generator)
        self.relation = Embedding(2 * n_relations, rank, scale=scale, generator=generator)

    def score(self, facts: Tensor) -> Tensor:
        """-‖s + r - o‖."""
        s, r, o = facts.T
        return -self.distance.of_pairs(self.entity(s) + self.relation(r), self.entity(o))

    def score_all(self, queries: Queries, among: Tensor | None = None) -> Tensor:
        """-‖(s + r) - o‖ for every entity o."""
        moved = self.entity(queries.entity) + self.relation(queries.relation)
        return -self.distance.of_all(moved, self.entity(among))

    def entity_moduli(self, entities: Tensor) -> Tensor:
        """|e|."""
        return self.entity(entities).abs()

    def relation_moduli(self, relations: Tensor) -> Tensor:
        """|r|."""
        return self.relation(relations).abs()
