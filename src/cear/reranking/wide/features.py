"""All features of candidates that are known before the network reads them, from what given facts say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch

from cear.candidates import Lists
from cear.core.types import Floats
from cear.data import KnowledgeBase
from cear.reranking.features import N_EXTRA, N_FEATURES, extra_features, known_flags, raw_scores, stage1_features
from cear.reranking.reranker import STAGE1_INPUTS
from cear.reranking.wide.config import WideSettings
from cear.reranking.wide.graph import ANSWERED, LINKED, NAMES, GraphFeatures
from cear.reranking.wide.shared import Reals

TINY = 1e-6  # of a deviation: below it a column says nothing
GRAPH, KNOWN = "graph counts", "known answers"  # the names of their groups


def n_features(config: WideSettings, extra: int) -> int:
    """How many features describe a candidate, with so many retrievers beside Stage 1."""
    return sum(_group_sizes(config, [str(number) for number in range(extra)]).values())


def feature_groups(config: WideSettings, extra: Sequence[str]) -> dict[str, slice]:
    """The columns of each group of features, in the order in which `WideFeatures` has them."""
    sizes = _group_sizes(config, extra)
    ends = np.cumsum([0, *sizes.values()]).tolist()
    return {name: slice(*span) for name, span in zip(sizes, pairwise(ends), strict=True)}


def retriever_columns(config: WideSettings, features: int) -> int:
    """How many of so many features are what retrievers say; they come first, counts and marks of facts after them."""
    return features - sum(size for name, size in _group_sizes(config, ()).items() if name != STAGE1_INPUTS)


def aligned(features: Floats, at_use: Floats, columns: int) -> Floats:
    """The features, the first so many columns with the mean and deviation that they have at use."""
    ours, theirs = (each[..., :columns].reshape(-1, columns).astype(np.float64) for each in (features, at_use))
    scale = theirs.std(axis=0) / np.maximum(ours.std(axis=0), TINY)
    moved = (features[..., :columns] - ours.mean(axis=0)) * scale + theirs.mean(axis=0)
    return np.concatenate([moved, features[..., columns:]], axis=-1).astype(np.float32)


def _group_sizes(config: WideSettings, extra: Sequence[str]) -> dict[str, int]:
    """The columns of each group: Stage 1's, of which the first is always there, then what is not switched off."""
    sizes = {STAGE1_INPUTS: N_FEATURES if config.scores and config.list_inputs else 1}
    sizes |= dict.fromkeys(extra if config.extra_scores else (), N_EXTRA if config.list_inputs else 1)
    sizes |= {GRAPH: len(_counts_read(config))} if config.graph else {}
    return sizes | ({KNOWN: 1} if config.flag_known else {})


def _counts_read(config: WideSettings) -> list[int]:
    """The places in `NAMES` of the counts that are read."""
    left_out = ANSWERED * (not config.answered) + LINKED * (not config.linked)
    return [place for place in range(len(NAMES)) if place not in left_out]


class WideFeatures:
    """The features of each candidate: what the retrievers say, as the lists have it, and what training facts say.

    Lists of a held-out fold come from retrievers, and are counted on a graph, that never had the fold.
    """

    def __init__(self, seen: KnowledgeBase, config: WideSettings, *, device: torch.device | str = "cpu") -> None:
        """`device` is where the graph is looked at; features are arrays wherever that is."""
        self._config, self._seen = config, seen
        self._graph: GraphFeatures | None = None
        if config.graph:
            self._graph = GraphFeatures(seen.facts("train"), seen.n_entities, seen.n_relations, device=device)

    def of(self, lists: Lists) -> Reals:
        """The features, (list, candidate, feature): Stage 1's log-probability, or its score, first; 0 where padded."""
        config, found = self._config, lists.candidates
        stage1 = stage1_features(found) if config.list_inputs else raw_scores(found)
        groups = [stage1 if config.scores else stage1[..., :1]]
        if config.extra_scores:
            groups += extra_features(lists, list_inputs=config.list_inputs)
        if self._graph is not None:
            groups.append(self._graph.of(lists)[..., _counts_read(config)])
        if config.flag_known:
            groups.append(known_flags(lists, self._seen))
        return np.concatenate(groups, axis=-1).astype(np.float32)
