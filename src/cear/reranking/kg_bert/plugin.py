"""KG-BERT as a re-ranker that plugs in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from cear.candidates import Lists, Manifest
from cear.core.context import Context
from cear.core.tensors import load_state, read_tensors
from cear.core.types import NO_ENTITY, Candidates, Floats
from cear.data import KnowledgeBase
from cear.reranking.kg_bert.config import KgBertSettings
from cear.reranking.kg_bert.reranker import ENCODER, HEAD, KgBertReranker
from cear.reranking.reranker import LearnsFrom, Upstream
from cear.retrieval import draw_training


class KgBertRerankerConfig(KgBertSettings):
    """A language model reads ⟨s, r, o⟩ and says whether it is true (Yao, Mao & Luo 2019), candidate by candidate."""

    version: ClassVar[int] = 1
    kind: Literal["kg_bert"] = "kg_bert"
    """Which re-ranker."""

    @property
    def learns_from(self) -> LearnsFrom:
        """Training facts and their corruptions, which need no retriever."""
        return "drawn"

    @property
    def draw_settings(self) -> dict[str, Any]:
        """How many corruptions there are."""
        return self.model_dump(include={"negatives"})

    def draw_lists(self, kb: KnowledgeBase, context: Context) -> Lists:
        """One list for each training fact: its subject or its object among entities that no training fact has there."""
        drawn = draw_training(kb, self.negatives, seed=context.seed)
        scores = np.where(drawn.entities == NO_ENTITY, -np.inf, 0.0).astype(np.float32)  # nobody ranked them
        manifest = Manifest(kb.name, kb.digest, "train", drawn.entities.shape[1], "drop", "drawn at random")
        return Lists(drawn.queries, Candidates(drawn.entities, scores), manifest)

    def preflight(self, kb: KnowledgeBase, k: int, context: Context) -> None:
        """Refuse an encoder that is not there, or that cannot hold a fact."""
        del k
        KgBertReranker(kb, self, context)

    def features_of(self, lists: Lists, seen: KnowledgeBase) -> Floats:
        """Nothing: it reads texts alone."""
        del seen
        return np.zeros((*lists.candidates.entities.shape, 0), np.float32)

    def build(self, upstream: Upstream, context: Context) -> KgBertReranker:
        """A fresh re-ranker on a pretrained encoder."""
        return KgBertReranker(upstream.kb, self, context)

    def load(self, upstream: Upstream, folder: Path, context: Context) -> KgBertReranker:
        """The re-ranker saved in a folder, for a knowledge base: its own, or another one's names."""
        there = self.model_copy(update={"encoder": str(folder / ENCODER)})
        reranker = KgBertReranker(upstream.kb, there, context)
        reranker.config = self
        load_state(reranker.reader.model.head, read_tensors(folder / HEAD)[0])
        return reranker
