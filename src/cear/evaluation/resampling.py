"""Resampling of facts: bootstrap means, and means under random signs.

A fact asks two questions whose ranks rise and fall together, so facts are drawn, never single queries:
intervals over queries taken one by one would be too narrow.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

CELLS = 4_000_000  # of the (resample, fact) matrix held at a time: 32 MB of float64


def bootstrap_means(values: Values, *, resamples: int, seed: int) -> Values:
    """The means of facts drawn with replacement, (fact, column) -> (resample, column)."""
    rng, facts = np.random.default_rng(seed), len(values)
    means = []
    for rows in _chunks(resamples, facts):
        drawn = rng.integers(0, facts, (rows, facts)) + facts * np.arange(rows)[:, None]
        times = np.bincount(drawn.reshape(-1), minlength=rows * facts).reshape(rows, facts)
        means.append(times.astype(np.float64) @ values / facts)
    return np.concatenate(means)


def sign_flip_means(values: Values, *, resamples: int, seed: int) -> Values:
    """The means when each fact keeps or changes its sign by a coin, (fact, column) -> (resample, column)."""
    rng, facts = np.random.default_rng(seed), len(values)
    moving = values[values.any(axis=1)]  # the sign of a zero changes nothing
    means = [np.zeros((0, values.shape[1]))]
    for rows in _chunks(resamples, max(len(moving), 1)):
        coins = rng.integers(0, 2, (rows, len(moving)), dtype=np.int8)
        means.append((2.0 * coins - 1.0) @ moving / facts)
    return np.concatenate(means)


def percentiles(means: Values, level: float) -> tuple[Values, Values]:
    """The lower and upper end of the central `level` of the resamples, each (column,)."""
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def _chunks(resamples: int, facts: int) -> Iterator[int]:
    """How many resamples to draw at a time, so that memory stays bounded."""
    size = max(1, CELLS // facts)
    for first in range(0, resamples, size):
        yield min(size, resamples - first)
