"""What the network reads when a group of inputs is left out: every query and candidate has the average in its place.

The average tells no candidate from another, and unlike zeros it is an input that the network has learned from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from torch import Tensor

from cear.core.types import Ints
from cear.reranking.wide.model import WideBatch

TEXTS = "text vectors"  # the names of their groups
VECTORS = "stage 1 vectors"

MOST_AVERAGED = 10_000  # entities or queries whose vectors make an average

Hide = Callable[[WideBatch], WideBatch]


def hide_features(columns: slice, mean: Tensor) -> Hide:
    """Puts the mean over training into these columns of the features."""

    def hide(batch: WideBatch) -> WideBatch:
        features = batch.features.clone()
        features[..., columns] = mean[columns]
        return replace(batch, features=features)

    return hide


def hide_texts(query: Tensor, candidate: Tensor) -> Hide:
    """Puts these vectors into the place of all texts."""

    def hide(batch: WideBatch) -> WideBatch:
        assert batch.query_text is not None
        assert batch.candidate_text is not None
        texts = query.expand_as(batch.query_text), candidate.expand_as(batch.candidate_text)
        return replace(batch, query_text=texts[0], candidate_text=texts[1])

    return hide


def hide_vectors(query: Tensor, candidate: Tensor) -> Hide:
    """Puts these vectors into the place of all Stage-1 vectors."""

    def hide(batch: WideBatch) -> WideBatch:
        assert batch.query_vector is not None
        assert batch.candidate_vector is not None
        vectors = query.expand_as(batch.query_vector), candidate.expand_as(batch.candidate_vector)
        return replace(batch, query_vector=vectors[0], candidate_vector=vectors[1])

    return hide


def averaged_rows(n: int) -> Ints:
    """Rows that an average is taken of: all, or where these are many, as many as need be, evenly spread."""
    return np.linspace(0, n - 1, min(n, MOST_AVERAGED)).astype(np.int64)
