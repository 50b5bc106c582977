"""Frequent answers: whoever has answered a relation often is its best answer, whatever the subject."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from pydantic import PositiveFloat
from torch import Tensor

from cear.core.context import Context
from cear.core.devices import tensor
from cear.core.tensors import read_tensors, write_tensors
from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase
from cear.evaluation import valid_mrr
from cear.retrieval import Fitted, RetrieverConfig, learned

COUNTS = "counts.safetensors"


class FrequencyRetriever:
    """log P(o | r), with the same small count for every entity on top."""

    def __init__(self, scores: Tensor) -> None:
        self._scores = scores  # (2R, entity): relation r + R asks for the subjects of r

    @property
    def n_entities(self) -> int:
        """The number of entities that are ranked."""
        return self._scores.shape[1]

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The score of every entity, or of those in `among`, (query, entity)."""
        scores = self._scores[tensor(queries.relation, self._scores.device)]
        return scores if among is None else scores[:, tensor(among, scores.device)]

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        """The score of the entities in each query's row, (query, candidate)."""
        return self.score_all(queries).gather(1, tensor(entities, self._scores.device))


class FrequencyConfig(RetrieverConfig):
    """Counts of the answers of each relation."""

    model: Literal["frequency"] = "frequency"
    """Which retriever."""
    smoothing: PositiveFloat = 0.1
    """Added to every count, so that an entity that never answered a relation still has a score."""

    def fit(self, kb: KnowledgeBase, folder: Path, context: Context) -> Fitted:
        """Count the training facts; validation only measures."""
        start = time.monotonic()
        s, r, o = kb.facts("train").T
        counts = np.full((2 * kb.n_relations, kb.n_entities), self.smoothing, np.float32)
        np.add.at(counts, (r, o), 1)
        np.add.at(counts, (r + kb.n_relations, s), 1)
        write_tensors(folder / COUNTS, {"counts": torch.from_numpy(counts)})
        retriever = self.load(kb, folder, context)
        state = learned(valid_mrr(kb)(retriever), epochs=1, seconds=time.monotonic() - start)
        return Fitted(retriever, state)

    def load(self, kb: KnowledgeBase, folder: Path, context: Context) -> FrequencyRetriever:
        """The retriever of the counts in a folder."""
        del kb
        counts = read_tensors(folder / COUNTS)[0]["counts"].to(context.device)
        return FrequencyRetriever((counts / counts.sum(-1, keepdim=True)).log())
