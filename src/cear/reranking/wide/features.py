"""All features of candidates that are known before the network reads them, from what given facts say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch

from cear.candidates import Lists
from cear.core.types import NO_ENTITY, Candidates, Floats, Ints
from cear.data import KnowledgeBase
from cear.reranking.features import stage1_features
from cear.reranking.reranker import STAGE1_INPUTS
from cear.reranking.wide.config import WideSettings
from cear.reranking.wide.graph import N_GRAPH, GraphFeatures
from cear.reranking.wide.shared import Reals

N_STAGE1, N_EXTRA = 3, 4
GRAPH = "graph counts"  # the name of their group


def n_features(config: WideSettings, extra: int) -> int:
    """How many features describe a candidate: Stage 1's log-probability, then what is not switched off."""
    graph = (N_GRAPH + config.linked) * config.graph
    return 1 + (N_STAGE1 - 1) * config.scores + N_EXTRA * extra * config.extra_scores + graph


def feature_groups(config: WideSettings, extra: Sequence[str]) -> dict[str, slice]:
    """The columns of each group of features, in the order in which `WideFeatures` has them."""
    sizes = {STAGE1_INPUTS: n_features(config.model_copy(update={"graph": False}), 0)}
    sizes |= dict.fromkeys(extra if config.extra_scores else (), N_EXTRA)
    sizes |= {GRAPH: N_GRAPH + config.linked} if config.graph else {}
    ends = np.cumsum([0, *sizes.values()]).tolist()
    return {name: slice(*span) for name, span in zip(sizes, pairwise(ends), strict=True)}


class WideFeatures:
    """The features of each candidate: what the retrievers say, as the lists have it, and counts of training facts.

    Lists of a held-out fold come from retrievers, and are counted on a graph, that never had the fold.
    """

    def __init__(self, seen: KnowledgeBase, config: WideSettings, *, device: torch.device | str = "cpu") -> None:
        """`device` is where the graph is looked at; features are arrays wherever that is."""
        self._config = config
        self._graph: GraphFeatures | None = None
        if config.graph:
            self._graph = GraphFeatures(seen.facts("train"), seen.n_entities, seen.n_relations, device=device)

    def of(self, lists: Lists) -> Reals:
        """The features, (list, candidate, feature): Stage 1's log-probability first; 0 where padded."""
        stage1 = stage1_features(lists.candidates)
        groups = [stage1 if self._config.scores else stage1[..., :1]]
        if self._config.extra_scores:
            groups += [_said_by(lists.candidates.entities, scores) for scores in np.moveaxis(lists.extra, -1, 0)]
        if self._graph is not None:
            groups.append(self._graph.of(lists)[..., : N_GRAPH + self._config.linked])
        return np.concatenate(groups, axis=-1).astype(np.float32)


def _said_by(entities: Ints, scores: Floats) -> Reals:
    """Score, log-probability, probability and log rank within the list, by a retriever beside Stage 1."""
    raw = np.where(entities == NO_ENTITY, 0.0, scores)[..., None]
    return np.concatenate([raw, _in_its_order(entities, scores)], axis=-1).astype(np.float32)


def _in_its_order(entities: Ints, scores: Floats) -> Floats:
    """`stage1_features` of another retriever, for candidates that stand in Stage 1's order."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = Candidates(np.take_along_axis(entities, order, axis=1), np.take_along_axis(scores, order, axis=1))
    back = np.argsort(order, axis=1)
    return np.take_along_axis(stage1_features(ranked), back[..., None], axis=1)
