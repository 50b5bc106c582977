"""RotatE (Sun et al. 2019): -‖s ∘ r - o‖ with |rᵢ| = 1, so that a relation is a rotation in each complex plane."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from cear.core.types import Queries
from cear.retrieval.complex import multiply
from cear.retrieval.config import Stage1Config
from cear.retrieval.distances import Distance, modulus
from cear.retrieval.scorer import Embedding, Scorer


class RotatE(Scorer):
    """Norm 1 sums the moduli of the complex coordinates, as the authors' code does; norm 2 is Euclidean."""

    def __init__(self, n_entities: int, n_relations: int, config: Stage1Config, generator: torch.Generator) -> None:
        super().__init__(n_entities, n_relations)
        rank, scale = config.rank, config.init_scale
        self.distance = Distance(config.norm, config.squared, complex_pairs=True)
        self.entity = Embedding(n_entities, 2 * rank, scale=scale, generator=generator)
        angles = torch.rand(2 * n_relations, rank, generator=generator)
        self.phase = nn.Parameter((2 * angles - 1) * math.pi)

    def score(self, facts: Tensor) -> Tensor:
        """-‖s ∘ r - o‖."""
        s, r, o = facts.T
        return -self.distance.of_pairs(self._rotate(self.entity(s), r), self.entity(o))

    def score_all(self, queries: Queries, among: Tensor | None = None) -> Tensor:
        """-‖(s ∘ r) - o‖ for every entity o."""
        rotated = self._rotate(self.entity(queries.entity), torch.as_tensor(queries.relation))
        return -self.distance.of_all(rotated, self.entity(among))

    def entity_moduli(self, entities: Tensor) -> Tensor:
        """|e| of the complex coordinates."""
        return modulus(self.entity(entities))

    def relation_moduli(self, relations: Tensor) -> Tensor:
        """A rotation keeps lengths: 1 everywhere."""
        return torch.ones(len(relations), 1)

    def _rotate(self, s: Tensor, r: Tensor) -> Tensor:
        phase = nn.functional.embedding(r, self.phase)
        return multiply(s, torch.cat([phase.cos(), phase.sin()], -1))
