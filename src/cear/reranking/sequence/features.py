"""What the paper's re-ranker is told of a candidate beside its text."""

from __future__ import annotations

import numpy as np

from cear.candidates import Lists
from cear.core.types import Floats
from cear.data import KnowledgeBase
from cear.reranking.features import N_FEATURES, known_flags, raw_scores, stage1_features
from cear.reranking.sequence.config import SequenceSettings


def n_features(config: SequenceSettings) -> int:
    """How many features describe a candidate."""
    return (N_FEATURES if config.list_inputs else 1) + config.flag_known


def sequence_features(config: SequenceSettings, lists: Lists, seen: KnowledgeBase) -> Floats:
    """What Stage 1 says of each candidate and, last, whether it is a known answer, (list, candidate, feature)."""
    said = stage1_features(lists.candidates) if config.list_inputs else raw_scores(lists.candidates)
    return np.concatenate([said, known_flags(lists, seen)], axis=-1) if config.flag_known else said
