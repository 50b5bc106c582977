"""What the paper's re-ranker is told of a candidate beside its text."""

from __future__ import annotations

import numpy as np

from cear.candidates import Lists
from cear.core.types import Floats
from cear.data import KnowledgeBase
from cear.reranking.features import N_EXTRA, N_FEATURES, extra_features, known_flags, raw_scores, stage1_features
from cear.reranking.sequence.config import SequenceSettings


def n_features(config: SequenceSettings, extra: int) -> int:
    """How many features describe a candidate, with so many retrievers beside Stage 1."""
    stage1, each = (N_FEATURES, N_EXTRA) if config.list_inputs else (1, 1)
    return stage1 + config.extra_scores * extra * each + config.flag_known


def sequence_features(config: SequenceSettings, lists: Lists, seen: KnowledgeBase) -> Floats:
    """What retrievers say of each candidate and, last, whether it is a known answer, (list, candidate, feature)."""
    found = lists.candidates
    groups = [stage1_features(found) if config.list_inputs else raw_scores(found)]
    groups += extra_features(lists, list_inputs=config.list_inputs) if config.extra_scores else []
    groups += [known_flags(lists, seen)] if config.flag_known else []
    return np.concatenate(groups, axis=-1)
