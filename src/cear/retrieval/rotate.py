"""RotatE (Sun et al. 2019): -‖s ∘ r - o‖ with |rᵢ| = 1, so that a relation is a rotation in each complex plane."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from cear.core.types import Ints, Queries
from cear.retrieval.complex import multiply
from cear.retrieval.distances import Distance, DistanceConfig, modulus
from cear.retrieval.embeddings import Embeddings
from cear.retrieval.over_embeddings import OverEmbeddings


class RotatE(OverEmbeddings):
    """Norm 1 sums the moduli of the complex coordinates, as the authors' code does; norm 2 is Euclidean."""

    def __init__(self, embeddings: Embeddings, rank: int, distance: Distance) -> None:
        super().__init__(embeddings.n_entities, embeddings.n_relations)
        self.distance = distance
        self.entity = embeddings.entities(2 * rank)
        self.phase = embeddings.relations(rank, inverse=torch.neg, start=any_angle)

    def score(self, facts: Ints) -> Tensor:
        """-‖s ∘ r - o‖."""
        s, r, o = facts.T
        return -self.distance.of_pairs(self._rotated(s, r), self.entity(o))

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """-‖(s ∘ r) - o‖ for every entity o."""
        return -self.distance.of_all(self._rotated(queries.entity, queries.relation), self.entity(among))

    def entity_moduli(self, entities: Ints) -> Tensor:
        """|e| of the complex coordinates."""
        return modulus(self.entity(entities))

    def relation_moduli(self, relations: Ints) -> Tensor:
        """A rotation keeps lengths: 1 everywhere."""
        return torch.ones(len(relations), 1, device=self.device)

    def _rotated(self, s: Ints, r: Ints) -> Tensor:
        phase = self.phase(r)
        return multiply(self.entity(s), torch.cat([phase.cos(), phase.sin()], -1))


class RotatEConfig(DistanceConfig):
    """RotatE and how it is trained."""

    model: Literal["rotate"] = "rotate"
    """Which retriever."""

    def scorer(self, embeddings: Embeddings) -> RotatE:
        """RotatE over these embeddings."""
        return RotatE(embeddings, self.rank, Distance(self.norm, self.squared, complex_pairs=True))


def any_angle(rows: int, width: int, generator: torch.Generator) -> Tensor:
    """Angles between -π and π, each as likely."""
    return (2 * torch.rand(rows, width, generator=generator) - 1) * math.pi
