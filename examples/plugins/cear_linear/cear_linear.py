"""A linear re-ranker: Stage 1's opinion and how often a candidate has answered, weighed relation by relation."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from cear.candidates import CandidatesConfig, Lists
from cear.core.context import Context
from cear.core.devices import device_of, tensor
from cear.core.tensors import read_tensors
from cear.core.types import NO_ENTITY, Floats
from cear.data import KnowledgeBase
from cear.reranking import WEIGHTS, LearnedReranker, RerankerConfig, Upstream, stage1_features


def features_of(lists: Lists, seen: KnowledgeBase) -> Floats:
    """What Stage 1 says and the logarithm of how often the candidate answers this relation, (list, candidate, 4)."""
    entities = lists.candidates.entities
    s, r, o = seen.facts("train").T
    answers = np.concatenate([r, r + seen.n_relations]) * seen.n_entities + np.concatenate([o, s])
    asked = lists.queries.relation[:, None] * seen.n_entities + np.maximum(entities, 0)
    keys, counts = np.unique(answers, return_counts=True)
    place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    often = np.where((keys[place] == asked) & (entities != NO_ENTITY), counts[place], 0)
    return np.concatenate([stage1_features(lists.candidates), np.log1p(often)[..., None]], axis=-1, dtype=np.float32)


class LinearModel(nn.Module):
    """w · features + w(r) · features: weights of everybody, and what a relation adds to them."""

    def __init__(self, n_relations: int, n_features: int) -> None:
        super().__init__()
        self.everybody = nn.Parameter(torch.zeros(n_features))
        self.everybody.data[0] = 1.0  # an untrained re-ranker keeps Stage 1's order
        self.relation = nn.Parameter(torch.zeros(2 * n_relations, n_features))

    def forward(self, relation: Tensor, features: Tensor) -> Tensor:
        """The scores of lists, (list,) and (list, candidate, feature) -> (list, candidate)."""
        return torch.einsum("lkf,lf->lk", features, self.everybody + self.relation[relation])


class LinearReranker(LearnedReranker):
    """Scores each candidate by its features."""

    def __init__(self, upstream: Upstream, config: LinearConfig, context: Context) -> None:
        super().__init__(config, LinearModel(upstream.kb.n_relations, n_features=4), context)
        self._kb = upstream.kb

    def features(self, lists: Lists) -> Floats:
        """What it reads of lists whose facts nobody has seen."""
        return features_of(lists, self._kb)

    def score(self, lists: Lists, features: Floats) -> Tensor:
        """The scores of a batch of lists, (list, candidate), with gradients when the model trains."""
        device = device_of(self.model)
        scores: Tensor = self.model(tensor(lists.queries.relation, device), tensor(features, device))
        return scores


class LinearConfig(RerankerConfig):
    """The linear re-ranker and how it is trained."""

    kind: Literal["linear"] = "linear"
    """Which re-ranker."""

    def refuse_lists(self, candidates: CandidatesConfig) -> None:
        """Refuse lists of facts that were counted: they give the answer away."""
        if not candidates.held_out:
            raise ValueError("reranker.kind: linear counts facts, so it needs lists of facts that were held out")

    def features_of(self, lists: Lists, seen: KnowledgeBase) -> Floats:
        """What it reads of lists to learn from: counts of `seen`, who has not seen their answers."""
        return features_of(lists, seen)

    def build(self, upstream: Upstream, context: Context) -> LinearReranker:
        """A fresh one."""
        return LinearReranker(upstream, self, context)

    def load(self, upstream: Upstream, folder: Path, context: Context) -> LinearReranker:
        """The one that was saved in a folder."""
        reranker = self.build(upstream, context)
        reranker.model.load_state_dict(read_tensors(folder / WEIGHTS)[0])
        return reranker
