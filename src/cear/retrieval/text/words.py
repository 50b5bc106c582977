"""Vectors of words, and what belongs to a relation in either direction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from torch import Tensor, nn

from cear.core.devices import tensor
from cear.core.types import Ints, Queries
from cear.retrieval.embeddings import Rows
from cear.retrieval.text.config import TextSettings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from cear.retrieval.text.pieces import Pieces

_APART = 0.3  # how far a relation and its reciprocal are apart at the start, against how far relations are


class WordVectors(nn.Module):
    """A vector for every piece; a part of a text is the sum of its own, and a text that of its parts.

    t = w(r) * Σ share(r, part) part(s): the relation says how much each part counts, and each coordinate of their sum.
    query = t + f(t, r, t r, s) with what s means; entity = Σ share(part) part(e); both at unit length, the query over a
    temperature of the relation. f starts at zero.
    """

    start = 10.0  # 1 / temperature, before training: half of that of meanings

    def __init__(self, pieces: Pieces, n_relations: int, meaning: int, config: TextSettings, *, seed: int = 0) -> None:
        """`meaning` is the width of the vectors that say what subjects mean."""
        super().__init__()
        width = config.words
        self._parts = pieces.parts
        self._gain = math.sqrt(width)
        generator = torch.Generator().manual_seed(seed)
        self.piece = Rows.normal(pieces.count, width, scale=width**-0.5, generator=generator)
        self.relation = Directions.drawn(n_relations, width, generator=generator)
        self.shares = Directions(torch.ones(n_relations, len(pieces.parts)))
        self.weights = Directions(torch.ones(n_relations, width))
        self.log_scale = Directions(torch.full((n_relations, 1), math.log(self.start)))
        self.entity_shares = nn.Parameter(torch.ones(len(pieces.parts)))
        self.correction = correction(3 * width + meaning, width, config, seed=seed)

    def read(self, pieces: Pieces) -> None:
        """Take the pieces of other texts, which are the same pieces."""
        self._parts = pieces.parts

    def queries(self, queries: Queries, meaning: Tensor) -> Tensor:
        """The vector of each query, (query, width); `meaning` is that of its subject, (query, meaning)."""
        relations = tensor(queries.relation, self.piece.weight.device)
        said = self._sum(queries.entity, self.shares(relations)) * self.weights(relations)
        text, r = nn.functional.normalize(said, dim=-1), self.relation(relations)
        wide = self._gain * text
        read = torch.cat([wide, r, wide * r, meaning], -1)
        scale: Tensor = self.log_scale(relations).exp()
        return scale * nn.functional.normalize(text + self.correction(read), dim=-1)

    def entities(self, among: Ints) -> Tensor:
        """The vector of each of these entities, (entity, width)."""
        return nn.functional.normalize(self._sum(among, self.entity_shares), dim=-1)

    def _sum(self, which: Ints, shares: Tensor) -> Tensor:
        parts = torch.stack([self._bag(part, which) for part in self._parts], dim=-1)  # (text, width, part)
        return (parts * shares.unsqueeze(-2)).sum(-1)

    def _bag(self, part: csr_array, which: Ints) -> Tensor:
        rows = part[which]
        weight = self.piece.weight
        return nn.functional.embedding_bag(
            tensor(rows.indices.astype(np.int64), weight.device),
            weight,
            tensor(rows.indptr[:-1].astype(np.int64), weight.device),
            mode="sum",
            per_sample_weights=tensor(rows.data, weight.device),
        )


def correction(read: int, width: int, config: TextSettings, *, seed: int) -> nn.Sequential:
    """A network of one hidden layer that starts as zero whatever it reads."""
    with torch.random.fork_rng(devices=[]):  # fresh weights depend on the seed alone
        torch.manual_seed(seed)
        first, last = nn.Linear(read, config.hidden), nn.Linear(config.hidden, width)
    for weight in last.parameters():
        nn.init.zeros_(weight)
    return nn.Sequential(first, nn.GELU(), nn.Dropout(config.dropout), last)


class Directions(nn.Module):
    """Numbers for either direction of each relation: a + b forwards, a - b backwards.

    What is learned forwards is known backwards at once, so far as b, which starts small, has not set them apart. So a
    fact of a symmetric relation teaches its other way round.
    """

    def __init__(self, both: Tensor, difference: Tensor | None = None) -> None:
        super().__init__()
        self.both = nn.Parameter(both)
        self.difference = nn.Parameter(torch.zeros_like(both) if difference is None else difference)

    @classmethod
    def drawn(cls, n_relations: int, width: int, *, generator: torch.Generator) -> Self:
        """Standard normal numbers, the two directions much nearer to each other than to those of other relations."""
        both, difference = torch.randn(2, n_relations, width, generator=generator)
        return cls(both, _APART * difference)

    def forward(self, relations: Tensor) -> Tensor:
        """The numbers of these relations, the reciprocal of r being r + R, (relation, …)."""
        n = len(self.both)
        sign = torch.where(relations < n, 1.0, -1.0).unsqueeze(-1)
        return self.both[relations % n] + sign * self.difference[relations % n]
