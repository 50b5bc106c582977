"""DistMult (Yang et al. 2015): ⟨s, r, o⟩ = Σ s r o."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeFloat
from torch import Tensor

from cear.core.types import Ints, Queries
from cear.retrieval.embeddings import Embeddings
from cear.retrieval.gradient import GradientConfig
from cear.retrieval.over_embeddings import OverEmbeddings
from cear.retrieval.scorer import DotProductScorer


class DistMult(OverEmbeddings, DotProductScorer):
    """A diagonal bilinear form; with reciprocal relations it is no longer bound to be symmetric."""

    def __init__(self, embeddings: Embeddings, rank: int) -> None:
        super().__init__(embeddings.n_entities, embeddings.n_relations)
        self.entity = embeddings.entities(rank)
        self.relation = embeddings.relations(rank, inverse=lambda r: r)

    def score(self, facts: Ints) -> Tensor:
        """Σ s r o."""
        s, r, o = facts.T
        return (self.entity(s) * self.relation(r) * self.entity(o)).sum(-1)

    def query_vectors(self, queries: Queries) -> Tensor:
        """The elementwise product s r."""
        return self.entity(queries.entity) * self.relation(queries.relation)

    def entity_vectors(self, among: Ints | None = None) -> Tensor:
        """The entity embeddings."""
        return self.entity(among)

    def score_relations(self, facts: Ints) -> Tensor:
        """Σ s o r for every relation r."""
        s, _, o = facts.T
        return (self.entity(s) * self.entity(o)) @ self.relation(None).T

    def entity_moduli(self, entities: Ints) -> Tensor:
        """|e|."""
        return self.entity(entities).abs()

    def relation_moduli(self, relations: Ints) -> Tensor:
        """|r|."""
        return self.relation(relations).abs()


class DistMultConfig(GradientConfig):
    """DistMult and how it is trained."""

    model: Literal["distmult"] = "distmult"
    """Which retriever."""
    relation_prediction: NonNegativeFloat = 0.0
    """Weight of predicting r from s and o (Chen et al. 2021)."""

    def scorer(self, embeddings: Embeddings) -> DistMult:
        """DistMult over these embeddings."""
        return DistMult(embeddings, self.rank)
