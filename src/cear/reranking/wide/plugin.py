"""The wide re-ranker as one that plugs in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal

from cear.candidates import CandidatesConfig, Lists
from cear.core.context import Context
from cear.core.tensors import load_state, read_tensors
from cear.core.types import Floats
from cear.data import KnowledgeBase
from cear.reranking.learned import WEIGHTS
from cear.reranking.reranker import Upstream
from cear.reranking.wide.config import WideSettings
from cear.reranking.wide.features import WideFeatures, aligned, retriever_columns
from cear.reranking.wide.reranker import WideReranker
from cear.texts import load_encoder


class WideConfig(WideSettings):
    """Each candidate is one token: its text, what the retrievers say of it, what the graph says of it."""

    version: ClassVar[int] = 2
    kind: Literal["wide"] = "wide"
    """Which re-ranker."""

    @property
    def reads_vectors(self) -> bool:
        """Whether it reads vectors of Stage 1, those of the only fold that was held out."""
        return self.vectors

    def refuse_lists(self, candidates: CandidatesConfig) -> None:
        """Refuse lists whose features would be computed by who has seen their answers, and vectors of several folds."""
        super().refuse_lists(candidates)
        if not candidates.held_out:
            raise ValueError(
                "reranker.kind: wide reads scores and counts, and those of facts that the retrievers have learned "
                "give the answer away; set candidates.crossfit or candidates.learn_from: valid, leave candidates.lists "
                "out, or take kind: sequence"
            )
        if self.vectors and candidates.crossfit is not None and candidates.crossfit.held_out_folds != 1:
            # Vectors of two trainings have nothing in common, and those of one have seen the lists of the other.
            raise ValueError(
                "reranker.vectors needs candidates.crossfit with held_out_folds: 1; set it to false otherwise"
            )

    def preflight(self, kb: KnowledgeBase, k: int, context: Context) -> None:
        """Refuse an encoder that is not there."""
        del kb, k
        if self.text:
            load_encoder(self.encoder, download=context.download)

    def features_of(self, lists: Lists, seen: KnowledgeBase) -> Floats:
        """What the retrievers say and counts of the training facts of `seen`, (list, candidate, feature)."""
        return WideFeatures(seen, self).of(lists)

    def prepare(self, features: Floats, at_use: Callable[[], Floats]) -> Floats:
        """The features, what retrievers say of them aligned with what they say at use, if the settings say so."""
        return (
            aligned(features, at_use(), retriever_columns(self, features.shape[-1])) if self.align_inputs else features
        )

    def build(self, upstream: Upstream, context: Context) -> WideReranker:
        """A fresh re-ranker: its training starts before the last phase, which is one of its own."""
        return WideReranker(upstream, self.model_copy(update={"end_to_end": None}), context, later=self.end_to_end)

    def load(self, upstream: Upstream, folder: Path, context: Context) -> WideReranker:
        """The re-ranker saved in a folder."""
        tensors = read_tensors(folder / WEIGHTS)[0]
        reranker = self.build(upstream, context)
        if self.end_to_end is not None and WideReranker.is_opened(tensors):
            reranker = reranker.end_to_end(self.end_to_end)
        load_state(reranker.model, tensors)
        return reranker
