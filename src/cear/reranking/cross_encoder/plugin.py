"""A published cross-encoder as a re-ranker that plugs in."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from cear.candidates import Lists
from cear.core.context import Context
from cear.core.types import Floats
from cear.data import KnowledgeBase
from cear.reranking.cross_encoder.config import CrossEncoderSettings
from cear.reranking.cross_encoder.reranker import ENCODER, CrossEncoderReranker
from cear.reranking.reranker import LearnsFrom, Upstream


class CrossEncoderConfig(CrossEncoderSettings):
    """A CrossEncoder of sentence-transformers scores (question, candidate), as it is or trained further."""

    version: ClassVar[int] = 1
    kind: Literal["cross_encoder"] = "cross_encoder"
    """Which re-ranker."""

    @property
    def learns_from(self) -> LearnsFrom:
        """The lists of the retrievers, if it learns."""
        return "retrieved" if self.tune else "nothing"

    def preflight(self, kb: KnowledgeBase, k: int, context: Context) -> None:
        """Refuse what is not there, is no cross-encoder, or cannot hold a pair."""
        del k
        CrossEncoderReranker(kb, self, context)

    def features_of(self, lists: Lists, seen: KnowledgeBase) -> Floats:
        """Nothing: it reads texts alone."""
        del seen
        return np.zeros((*lists.candidates.entities.shape, 0), np.float32)

    def build(self, upstream: Upstream, context: Context) -> CrossEncoderReranker:
        """The published one."""
        return CrossEncoderReranker(upstream.kb, self, context)

    def load(self, upstream: Upstream, folder: Path, context: Context) -> CrossEncoderReranker:
        """The re-ranker saved in a folder, for a knowledge base: its own, or another one's names."""
        there = self.model_copy(update={"encoder": str(folder / ENCODER)})
        reranker = CrossEncoderReranker(upstream.kb, there, context)
        reranker.config = self
        return reranker
