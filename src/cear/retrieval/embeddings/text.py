"""Projections of texts: a vector is a learned projection of what the text means, and a row that learns the rest.

So a scorer begins with what a language model knows of names and descriptions, and goes on with the graph (Zhang et
al. 2020, Pretrain-KGE).
"""

from __future__ import annotations

import copy
from typing import Literal

import torch
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor, nn

from cear.core.context import Context
from cear.core.devices import tensor
from cear.core.types import Ints
from cear.data import KnowledgeBase
from cear.retrieval.embeddings.embedding import EmbeddingConfig, Embeddings, Inverse, Start, Vectors
from cear.retrieval.embeddings.rows import GrownRows, Rows
from cear.texts import EMBEDDED, TextReader, load_encoder, text_vectors, texts

_EMBEDDED = TextReader()


class Projection(Vectors):
    """scale W text + row, (thing, width).

    The numbers of W start at a deviation of 1 and the scale is taken out, so that an optimiser whose first steps have a
    fixed size, as Adagrad's and Adam's have, moves vectors by the learning rate times the scale, not by many times what
    they are.
    """

    texts: Tensor  # (thing, text width), at unit length
    rows: Vectors

    def __init__(
        self, texts: Tensor, rows: Rows, *, scale: float, generator: torch.Generator, reader: TextReader
    ) -> None:
        super().__init__()
        width = rows.weight.shape[1]
        self.register_buffer("texts", texts, persistent=False)
        self.rows, self.scale, self.reader = rows, scale, reader
        self.weight = nn.Parameter(torch.randn(width, texts.shape[1], generator=generator))

    def forward(self, index: Ints | Tensor | None) -> Tensor:
        """The vectors of these things, or of all of them for None."""
        texts = self.texts if index is None else self.texts[tensor(index, self.texts.device)]
        return self.scale * (texts @ self.weight.T) + self.rows(index)

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> Projection:
        """The same projection of the new texts too; a new entity's row starts at zero, as every row did."""
        del context
        lines, fixed = texts(kb.entities)[first_new:], self.rows(None).detach()
        grown = copy.deepcopy(self).requires_grad_(False)
        grown.texts = torch.cat([self.texts, self.reader(lines).to(self.texts)])
        grown.rows = GrownRows(fixed, fixed.new_zeros(len(lines), fixed.shape[1]))
        return grown


class TextEmbeddings(Embeddings):
    """Projections of the text vectors of entities and of relations, one learned matrix for each of both."""

    def __init__(
        self, entities: Tensor, relations: Tensor, *, scale: float, seed: int, reader: TextReader = _EMBEDDED
    ) -> None:
        """`reader` is who reads the texts of entities that come later."""
        self.n_entities, self.n_relations, self.seed = len(entities), len(relations), seed
        self._entities, self._relations = entities, relations
        self._scale, self._generator, self._reader = scale, torch.Generator().manual_seed(seed), reader

    def entities(self, width: int, *, start: Start | None = None) -> Projection:
        """A projection of each entity's text."""
        return self._project(self._entities, width, start)

    def relations(self, width: int, *, inverse: Inverse, start: Start | None = None) -> Projection:
        """A projection of each relation's text; its reciprocal reads alike, and its row learns the difference."""
        del inverse
        return self._project(self._relations.repeat(2, 1), width, start)

    def _project(self, texts: Tensor, width: int, start: Start | None) -> Projection:
        rows = torch.zeros(len(texts), width) if start is None else start(len(texts), width, self._generator)
        return Projection(texts, Rows(rows), scale=self._scale, generator=self._generator, reader=self._reader)


class TextProjectionConfig(EmbeddingConfig):
    """A learned projection of the text vector, plus a row of its own that starts at zero."""

    kind: Literal["text"] = "text"
    """Which embedding."""
    encoder: str = EMBEDDED
    """Who reads the texts: embedded (all-MiniLM-L6-v2), a folder with a Hugging Face encoder, or a name on its hub."""
    tokens: PositiveInt = 48
    """A text is cut to so many tokens before it is encoded."""
    scale: PositiveFloat = 0.05
    """Standard deviation of the fresh vectors' coordinates: what the projection is multiplied by."""

    def preflight(self, kb: KnowledgeBase, context: Context) -> None:
        """Refuse an encoder that is not there."""
        del kb
        load_encoder(self.encoder, download=context.download)

    def build(self, kb: KnowledgeBase, context: Context) -> TextEmbeddings:
        """Projections of the texts of a knowledge base."""
        entities, relations = text_vectors(
            kb,
            self.encoder,
            tokens=self.tokens,
            device=context.device,
            download=context.download,
            progress=context.progress,
            own=context.vectors,
        )
        reader = TextReader(self.encoder, self.tokens, context.device, context.download)
        return TextEmbeddings(entities, relations, scale=self.scale, seed=context.seed, reader=reader)
