"""ComplEx (Trouillon et al. 2016): Re⟨s, r, ō⟩ over complex embeddings.

A complex vector of rank d is stored as 2d real numbers, real parts first, so that scoring every entity is
one real matrix product.
"""

from __future__ import annotations

import torch
from torch import Tensor

from cear.core.types import Queries
from cear.retrieval.config import Stage1Config
from cear.retrieval.distances import modulus
from cear.retrieval.scorer import DotProductScorer, Embedding, Vectors


class ComplExForm(DotProductScorer):
    """Re⟨s, r, ō⟩ (Eq. 9): a diagonal bilinear form that can be asymmetric, of vectors wherever they come from."""

    entity: Vectors
    relation: Vectors

    def score(self, facts: Tensor) -> Tensor:
        """Re⟨s, r, ō⟩ = Re(s r) · Re(o) + Im(s r) · Im(o)."""
        s, r, o = facts.T
        return (multiply(self.entity(s), self.relation(r)) * self.entity(o)).sum(-1)

    def query_vectors(self, queries: Queries) -> Tensor:
        """The complex product s r."""
        return multiply(self.entity(queries.entity), self.relation(queries.relation))

    def entity_vectors(self, among: Tensor | None = None) -> Tensor:
        """The entity embeddings, real and imaginary parts side by side."""
        return self.entity(among)

    def score_relations(self, facts: Tensor) -> Tensor:
        """Re⟨s, r, ō⟩ = Re⟨s ō, r⟩ for every relation r."""
        s, _, o = facts.T
        pair = multiply(conjugate(self.entity(s)), self.entity(o))
        return pair @ self.relation(None).T

    def entity_moduli(self, entities: Tensor) -> Tensor:
        """|e| of the complex coordinates."""
        return modulus(self.entity(entities))

    def relation_moduli(self, relations: Tensor) -> Tensor:
        """|r| of the complex coordinates."""
        return modulus(self.relation(relations))


class ComplEx(ComplExForm):
    """Re⟨s, r, ō⟩ with a vector of its own for every entity and relation."""

    def __init__(self, n_entities: int, n_relations: int, config: Stage1Config, generator: torch.Generator) -> None:
        super().__init__(n_entities, n_relations)
        rank, scale = config.rank, config.init_scale
        self.entity = Embedding(n_entities, 2 * rank, scale=scale, generator=generator)
        self.relation = Embedding(2 * n_relations, 2 * rank, scale=scale, generator=generator)


def multiply(x: Tensor, y: Tensor) -> Tensor:
    """The complex product of vectors stored as real parts, then imaginary parts: (row, 2 rank)."""
    (a, b), (c, d) = x.chunk(2, -1), y.chunk(2, -1)
    return torch.cat([a * c - b * d, a * d + b * c], -1)


def conjugate(x: Tensor) -> Tensor:
    """The complex conjugate."""
    real, imaginary = x.chunk(2, -1)
    return torch.cat([real, -imaginary], -1)
