"""What retrievers and known facts say about a candidate, as numbers."""

from __future__ import annotations

import numpy as np
import torch

from cear.candidates import Lists, labels
from cear.core.types import NO_ENTITY, Candidates, Floats, Ints
from cear.data import KnowledgeBase

N_FEATURES, N_EXTRA = 3, 4
"""Of Stage 1, and of each retriever beside it."""
_FLOOR = -20.0  # below this a log-probability says little more


def log_probabilities(candidates: Candidates) -> Floats:
    """The log-probability of each candidate in its list's softmax, (query, candidate); -inf where padded."""
    real = candidates.entities != NO_ENTITY
    scores = torch.from_numpy(np.where(real, candidates.scores.astype(np.float64), -np.inf))
    return np.where(real, torch.log_softmax(scores, dim=1).numpy(), -np.inf)


def stage1_features(candidates: Candidates) -> Floats:
    """Log-probability, probability and log rank of each candidate, (query, candidate, 3); 0 where padded."""
    real = candidates.entities != NO_ENTITY
    log_p = _softened(log_probabilities(candidates))
    rank = np.broadcast_to(np.log1p(np.arange(candidates.k)), real.shape)
    features = np.stack([log_p, np.exp(log_p), rank], axis=-1)
    return np.where(real[..., None], features, 0.0).astype(np.float32)


def raw_scores(candidates: Candidates) -> Floats:
    """The score of each candidate, whoever the others are, (query, candidate, 1); 0 where padded."""
    real = candidates.entities != NO_ENTITY
    return np.where(real, candidates.scores, 0.0)[..., None].astype(np.float32)


def extra_features(lists: Lists, *, list_inputs: bool) -> list[Floats]:
    """What each retriever beside Stage 1 says of the candidates, (query, candidate, 4); 0 where padded.

    Score, log-probability, probability and log rank within the list; without `list_inputs` the score alone.
    """
    entities = lists.candidates.entities
    said = [_said_by(entities, scores) for scores in np.moveaxis(lists.extra, -1, 0)]
    return said if list_inputs else [each[..., :1] for each in said]


def _said_by(entities: Ints, scores: Floats) -> Floats:
    return np.concatenate([raw_scores(Candidates(entities, scores)), _in_its_order(entities, scores)], axis=-1)


def _in_its_order(entities: Ints, scores: Floats) -> Floats:
    """`stage1_features` of another retriever, for candidates that stand in Stage 1's order."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = Candidates(np.take_along_axis(entities, order, axis=1), np.take_along_axis(scores, order, axis=1))
    back = np.argsort(order, axis=1)
    return np.take_along_axis(stage1_features(ranked), back[..., None], axis=1)


def known_flags(lists: Lists, seen: KnowledgeBase) -> Floats:
    """1 for each candidate that a training fact of `seen` has as an answer, else 0, (query, candidate, 1)."""
    return labels(lists, seen.known("train"))[..., None].astype(np.float32)


def _softened(log_p: Floats) -> Floats:
    """Log-probabilities that fall like a logarithm below the floor: they stay small, and no two become one."""
    below = np.maximum(_FLOOR - log_p, 0.0)
    softened: Floats = np.maximum(log_p, _FLOOR) - np.log1p(below)
    return softened
