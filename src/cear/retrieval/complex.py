"""ComplEx (Trouillon et al. 2016): Re⟨s, r, ō⟩ over complex embeddings.

A complex vector of rank d is stored as 2d real numbers, real parts first, so that scoring every entity is
one real matrix product.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import NonNegativeFloat
from torch import Tensor

from cear.core.types import Ints, Queries
from cear.retrieval.distances import modulus
from cear.retrieval.embeddings import Embeddings
from cear.retrieval.gradient import GradientConfig
from cear.retrieval.over_embeddings import OverEmbeddings
from cear.retrieval.scorer import DotProductScorer


class ComplEx(OverEmbeddings, DotProductScorer):
    """Re⟨s, r, ō⟩ (Eq. 9): a diagonal bilinear form that can be asymmetric, of vectors wherever they come from."""

    def __init__(self, embeddings: Embeddings, rank: int) -> None:
        super().__init__(embeddings.n_entities, embeddings.n_relations)
        self.entity = embeddings.entities(2 * rank)
        self.relation = embeddings.relations(2 * rank, inverse=conjugate)

    def score(self, facts: Ints) -> Tensor:
        """Re⟨s, r, ō⟩ = Re(s r) · Re(o) + Im(s r) · Im(o)."""
        s, r, o = facts.T
        return (multiply(self.entity(s), self.relation(r)) * self.entity(o)).sum(-1)

    def query_vectors(self, queries: Queries) -> Tensor:
        """The complex product s r."""
        return multiply(self.entity(queries.entity), self.relation(queries.relation))

    def entity_vectors(self, among: Ints | None = None) -> Tensor:
        """The entity embeddings, real and imaginary parts side by side."""
        return self.entity(among)

    def score_relations(self, facts: Ints) -> Tensor:
        """Re⟨s, r, ō⟩ = Re⟨s ō, r⟩ for every relation r."""
        s, _, o = facts.T
        pair = multiply(conjugate(self.entity(s)), self.entity(o))
        return pair @ self.relation(None).T

    def entity_moduli(self, entities: Ints) -> Tensor:
        """|e| of the complex coordinates."""
        return modulus(self.entity(entities))

    def relation_moduli(self, relations: Ints) -> Tensor:
        """|r| of the complex coordinates."""
        return modulus(self.relation(relations))


class ComplExConfig(GradientConfig):
    """ComplEx and how it is trained; the defaults are ComplEx-N3 (Lacroix et al. 2018)."""

    model: Literal["complex"] = "complex"
    """Which retriever."""
    relation_prediction: NonNegativeFloat = 0.0
    """Weight of predicting r from s and o (Chen et al. 2021)."""

    def scorer(self, embeddings: Embeddings) -> ComplEx:
        """ComplEx over these embeddings."""
        return ComplEx(embeddings, self.rank)


def multiply(x: Tensor, y: Tensor) -> Tensor:
    """The complex product of vectors stored as real parts, then imaginary parts: (row, 2 rank)."""
    (a, b), (c, d) = x.chunk(2, -1), y.chunk(2, -1)
    return torch.cat([a * c - b * d, a * d + b * c], -1)


def conjugate(x: Tensor) -> Tensor:
    """The complex conjugate."""
    real, imaginary = x.chunk(2, -1)
    return torch.cat([real, -imaginary], -1)
