"""What Stage 1 says about a candidate, as numbers that mean the same for every scorer."""

from __future__ import annotations

import numpy as np

from cear.nouns import NO_ENTITY, Candidates, Floats

N_FEATURES = 3
_FLOOR = -20.0  # a log-probability below this says no more than this


def log_probabilities(candidates: Candidates) -> Floats:
    """The log-probability of each candidate in its list's softmax, (query, candidate); -inf where padded."""
    scores = np.where(candidates.entities == NO_ENTITY, -np.inf, candidates.scores.astype(np.float64))
    peak = scores.max(axis=1, initial=-np.inf, keepdims=True)
    peak = np.where(np.isneginf(peak), 0.0, peak)  # an empty list
    with np.errstate(divide="ignore"):
        return np.asarray(scores - peak - np.log(np.exp(scores - peak).sum(axis=1, keepdims=True)))


def stage1_features(candidates: Candidates) -> Floats:
    """Log-probability, probability and log rank of each candidate, (query, candidate, 3); 0 where padded."""
    real = candidates.entities != NO_ENTITY
    log_p = np.maximum(log_probabilities(candidates), _FLOOR)
    rank = np.broadcast_to(np.log1p(np.arange(candidates.k)), real.shape)
    features = np.stack([log_p, np.exp(log_p), rank], axis=-1)
    return np.where(real[..., None], features, 0.0).astype(np.float32)
