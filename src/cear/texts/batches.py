"""Batches filled by tokens: sequences of like length share a batch, so that almost nothing is padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cear.core.types import Ints

_POOL = 50  # batches whose sequences are sorted together: little padding, and still random batches


def pack_by_tokens(lengths: Ints, max_tokens: int) -> list[Ints]:
    """The sequences of each batch, shortest first; rows times longest stays within `max_tokens`.

    A sequence that is longer than that has a batch of its own.
    """
    order = np.argsort(lengths, kind="stable")
    batches, start = [], 0
    for end in range(1, len(order) + 1):
        full = end == len(order) or (end + 1 - start) * int(lengths[order[end]]) > max_tokens
        if full:
            batches.append(order[start:end])
            start = end
    return batches


def shuffled_batches(lengths: Ints, max_tokens: int, rng: np.random.Generator) -> list[Ints]:
    """Batches for training: a random order, sorted by length only within pools, and the batches shuffled."""
    order = rng.permutation(len(lengths))
    pool = max(int(_POOL * max_tokens / max(lengths.mean(), 1)), 1) if len(lengths) else 1
    batches = [
        order[start : start + pool][batch]
        for start in range(0, len(order), pool)
        for batch in pack_by_tokens(lengths[order[start : start + pool]], max_tokens)
    ]
    return [batches[i] for i in rng.permutation(len(batches))]


def padding(lengths: Ints, batches: Sequence[Ints]) -> float:
    """The share of a run's tokens that are padding."""
    total = sum(len(batch) * int(lengths[batch].max()) for batch in batches)
    return 1 - int(lengths.sum()) / total if total else 0.0
