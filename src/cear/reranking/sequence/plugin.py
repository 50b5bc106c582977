"""The paper's re-ranker as one that plugs in."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from cear.candidates import Lists, Manifest
from cear.core.context import Context
from cear.core.errors import ConfigError
from cear.core.tensors import load_state, read_tensors
from cear.core.types import Candidates, Floats, Queries
from cear.data import KnowledgeBase
from cear.reranking.reranker import Upstream
from cear.reranking.sequence.config import SequenceSettings
from cear.reranking.sequence.features import sequence_features
from cear.reranking.sequence.int8 import with_int8
from cear.reranking.sequence.reranker import ENCODER, HEAD, SequenceReranker


class SequenceConfig(SequenceSettings):
    """The paper's re-ranker: the query and its candidates in one sequence of a language model."""

    version: ClassVar[int] = 1
    kind: Literal["sequence"] = "sequence"
    """Which re-ranker."""

    def preflight(self, kb: KnowledgeBase, k: int, context: Context) -> None:
        """Refuse an encoder that is not there, or that cannot hold k candidates."""
        k = min(k, kb.n_entities)
        same = Candidates(np.zeros((1, k), np.int64), np.zeros((1, k)))
        manifest = Manifest(kb.name, kb.digest, "train", k, "keep", "preflight")
        one = Lists(Queries(np.zeros(1, np.int64), np.zeros(1, np.int64)), same, manifest)
        self.build(Upstream(kb), context).lengths(one)

    def features_of(self, lists: Lists, seen: KnowledgeBase) -> Floats:
        """What retrievers say, which the lists themselves tell, and what is known, (list, candidate, feature)."""
        return sequence_features(self, lists, seen)

    def build(self, upstream: Upstream, context: Context) -> SequenceReranker:
        """A fresh re-ranker on a pretrained encoder."""
        return SequenceReranker(upstream.kb, self, context, extra=len(upstream.extra))

    def load(self, upstream: Upstream, folder: Path, context: Context) -> SequenceReranker:
        """The re-ranker saved in a folder, for a knowledge base: its own, or another one's names."""
        there = self.model_copy(update={"encoder": str(folder / ENCODER), "init": "pretrained"})
        reranker = SequenceReranker(upstream.kb, there, context, extra=len(upstream.extra))
        reranker.config = self
        encoder = {key: value for key, value in reranker.model.state_dict().items() if key.startswith("encoder.")}
        weights = read_tensors(folder / HEAD)[0]
        weights.update(encoder)
        load_state(reranker.model, weights)  # a missing weight is an error
        return reranker

    def load_int8(self, upstream: Upstream, folder: Path, context: Context) -> SequenceReranker:
        """The same with its encoder in 8-bit integers, made beside the folder when it is first asked for."""
        if self.flag_known:
            raise ConfigError(
                "int8 is for encoders that read tokens alone, and reranker.flag_known has known answers marked by "
                "token types. Leave it out."
            )
        return with_int8(self.load(upstream, folder, context), folder)
