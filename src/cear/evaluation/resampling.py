"""Resampling of distinct queries: bootstrap means, and means under random signs.

Facts that share a query ⟨s, r, ?⟩ share its ranking, so their ranks rise and fall together. They are one cluster,
drawn whole or not at all: intervals over facts or ranks taken one by one would be too narrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cear.core.types import Queries

Values = npt.NDArray[np.float64]

CELLS = 4_000_000  # of the (resample, cluster) matrix held at a time: 32 MB of float64


@dataclass(frozen=True, eq=False)
class Clusters:
    """The values of each distinct query, added up, and how many facts ask it."""

    sums: Values  # (cluster, column)
    sizes: Values  # (cluster,)

    @classmethod
    def of(cls, queries: Queries, values: Values) -> Clusters:
        """Values (query, column), those of equal queries together."""
        place = queries.distinct()[1]
        sums: Values = np.stack([np.bincount(place, weights=column) for column in values.T], axis=1)
        return cls(sums, np.bincount(place).astype(np.float64))

    def __len__(self) -> int:
        return len(self.sizes)


def bootstrap_means(clusters: Clusters, *, resamples: int, seed: int) -> Values:
    """The means of as many clusters drawn with replacement: their sum over their size, (resample, column)."""
    rng, count = np.random.default_rng(seed), len(clusters)
    means = []
    for rows in _chunks(resamples, count):
        drawn = rng.integers(0, count, (rows, count)) + count * np.arange(rows)[:, None]
        times = np.bincount(drawn.reshape(-1), minlength=rows * count).reshape(rows, count).astype(np.float64)
        means.append(times @ clusters.sums / (times @ clusters.sizes)[:, None])
    return np.concatenate(means)


def sign_flip_means(clusters: Clusters, *, resamples: int, seed: int) -> Values:
    """The means when each cluster, as a whole, keeps or changes its sign by a coin, (resample, column)."""
    rng = np.random.default_rng(seed)
    moving = clusters.sums[clusters.sums.any(axis=1)]  # the sign of a zero changes nothing
    means = [np.zeros((0, clusters.sums.shape[1]))]
    for rows in _chunks(resamples, max(len(moving), 1)):
        coins = rng.integers(0, 2, (rows, len(moving)), dtype=np.int8)
        means.append((2.0 * coins - 1.0) @ moving / clusters.sizes.sum())
    return np.concatenate(means)


def percentiles(means: Values, level: float) -> tuple[Values, Values]:
    """The lower and upper end of the central `level` of the resamples, each (column,)."""
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def _chunks(resamples: int, clusters: int) -> Iterator[int]:
    """How many resamples to draw at a time, so that memory stays bounded."""
    size = max(1, CELLS // clusters)
    for first in range(0, resamples, size):
        yield min(size, resamples - first)
