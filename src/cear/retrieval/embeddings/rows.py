"""Rows: every entity and every relation has a vector of its own, which is learned."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from pydantic import PositiveFloat
from torch import Tensor, nn

from cear.core.context import Context
from cear.core.devices import tensor
from cear.core.types import Ints
from cear.data import KnowledgeBase
from cear.retrieval.embeddings.embedding import EmbeddingConfig, Embeddings, Inverse, Start, Vectors


class Rows(Vectors):
    """A table of vectors, (row, width)."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.sparse = False  # whether the gradient of a lookup holds its rows alone

    @classmethod
    def normal(cls, rows: int, width: int, *, scale: float, generator: torch.Generator) -> Rows:
        """A table that starts as `scale` times a standard normal."""
        return cls(torch.randn(rows, width, generator=generator) * scale)

    def forward(self, index: Ints | Tensor | None) -> Tensor:
        """The vectors of these rows, or all of them for None."""
        if index is None:
            return self.weight
        return nn.functional.embedding(tensor(index, self.weight.device), self.weight, sparse=self.sparse)

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> GrownRows:
        """These rows, and for each new entity one that starts where entities in its places are."""
        del context
        fixed = self.weight.detach()
        peers = peers_of(kb, first_new)
        return GrownRows(fixed, torch.stack([fixed[tensor(each, fixed.device)].mean(0) for each in peers]))


class GrownRows(Vectors):
    """Rows of which the last ones may change, while those before them stay as they are, (row, width)."""

    fixed: Tensor

    def __init__(self, fixed: Tensor, new: Tensor) -> None:
        super().__init__()
        self.register_buffer("fixed", fixed)
        self.new = nn.Parameter(new)

    def forward(self, index: Ints | Tensor | None) -> Tensor:
        """The vectors of these rows, or all of them for None."""
        if index is None:
            return torch.cat([self.fixed, self.new])
        row, n = tensor(index, self.fixed.device), len(self.fixed)
        vectors, new = self.fixed[row.clamp_max(n - 1)], self.new[(row - n).clamp_min(0)]
        return torch.where((row >= n).unsqueeze(-1), new, vectors)

    def settled(self) -> Rows:
        """All of them as one table."""
        return Rows(self(None).detach())


def peers_of(kb: KnowledgeBase, first_new: int) -> list[Ints]:
    """The entities that stand in the places of each new one's training facts; everybody for one without facts."""
    known, everybody = kb.known("train"), np.arange(first_new)
    relation, answer = known.queries.relation[known.answers.rows], known.answers.values
    old = answer < first_new

    def peers(entity: int) -> Ints:
        found = np.unique(answer[old & np.isin(relation, relation[answer == entity])])
        return found if len(found) else everybody

    return [peers(entity) for entity in range(first_new, kb.n_entities)]


class RowsEmbeddings(Embeddings):
    """Fresh rows, drawn in the order in which they are asked for."""

    def __init__(self, n_entities: int, n_relations: int, *, scale: float = 1e-3, seed: int = 0) -> None:
        self.n_entities, self.n_relations, self.seed = n_entities, n_relations, seed
        self._scale, self._generator = scale, torch.Generator().manual_seed(seed)

    def entities(self, width: int, *, start: Start | None = None) -> Rows:
        """A row for each entity."""
        return self._rows(self.n_entities, width, start)

    def relations(self, width: int, *, inverse: Inverse, start: Start | None = None) -> Rows:
        """A row for each relation and one for its reciprocal: rows need no inverse, they learn it."""
        del inverse
        return self._rows(2 * self.n_relations, width, start)

    def _rows(self, rows: int, width: int, start: Start | None) -> Rows:
        if start is not None:
            return Rows(start(rows, width, self._generator))
        return Rows.normal(rows, width, scale=self._scale, generator=self._generator)


class RowsConfig(EmbeddingConfig):
    """A vector of its own for every entity and relation."""

    kind: Literal["rows"] = "rows"
    """Which embedding."""
    scale: PositiveFloat = 1e-3
    """Standard deviation of fresh rows."""

    def build(self, kb: KnowledgeBase, context: Context) -> RowsEmbeddings:
        """Rows for a knowledge base of this size."""
        return RowsEmbeddings(kb.n_entities, kb.n_relations, scale=self.scale, seed=context.seed)
