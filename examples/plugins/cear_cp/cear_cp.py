"""CP (Hitchcock 1927, Lacroix et al. 2018): an entity has one vector as a subject and another as an object."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from cear.core.types import Ints, Queries
from cear.retrieval import DotProductScorer, Embeddings, GradientConfig


class CP(DotProductScorer):
    """Σ u w v, with u of the subject, w of the relation, v of the object (Lacroix et al. 2018, Eq. 1)."""

    def __init__(self, embeddings: Embeddings, rank: int) -> None:
        super().__init__(embeddings.n_entities, embeddings.n_relations)
        self.subject, self.object = embeddings.entities(rank), embeddings.entities(rank)
        self.relation = embeddings.relations(rank, inverse=lambda r: r)

    def score(self, facts: Ints) -> Tensor:
        """Σ u w v."""
        s, r, o = facts.T
        return (self.subject(s) * self.relation(r) * self.object(o)).sum(-1)

    def query_vectors(self, queries: Queries) -> Tensor:
        """The elementwise product u w."""
        return self.subject(queries.entity) * self.relation(queries.relation)

    def entity_vectors(self, among: Ints | None = None) -> Tensor:
        """The entities as objects."""
        return self.object(among)

    def entity_moduli(self, entities: Ints) -> Tensor:
        """|u| and |v|, of which a fact has one each."""
        return (self.subject(entities).abs() + self.object(entities).abs()) / 2

    def relation_moduli(self, relations: Ints) -> Tensor:
        """|w|."""
        return self.relation(relations).abs()


class CPConfig(GradientConfig):
    """CP and how it is trained."""

    model: Literal["cp"] = "cp"
    """Which retriever."""

    def scorer(self, embeddings: Embeddings) -> CP:
        """CP over these embeddings."""
        return CP(embeddings, self.rank)
