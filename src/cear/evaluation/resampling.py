"""Resampling of distinct queries: bootstrap means, the first places of a bootstrap, and means under random signs.

Facts that share a query ⟨s, r, ?⟩ share its ranking, so their ranks rise and fall together. They are one cluster,
drawn whole or not at all: intervals over facts or ranks taken one by one would be too narrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cear.core.types import Bools, Ints, Queries

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
    means = []
    for draws in draw_clusters(len(clusters), resamples=resamples, seed=seed):
        times = draws.astype(np.float64)
        means.append(times @ clusters.sums / (times @ clusters.sizes)[:, None])
    return np.concatenate(means)


def bootstrap_tops(cluster: Ints, right: Bools, tops: Sequence[int], *, resamples: int, seed: int) -> Values:
    """How many of the first n are right, for each n of `tops`, in each resample of clusters, (resample, top).

    The rows come best first; `cluster` numbers that of each row from 0. A row stands there as often as its cluster is
    drawn, and the order stays: so one sorting serves all resamples.
    """
    draws = draw_clusters(int(cluster.max()) + 1, resamples=resamples, seed=seed)
    return np.stack([_right_at(times, cluster, right, tops) for block in draws for times in block])


def _right_at(times: Ints, cluster: Ints, right: Bools, tops: Sequence[int]) -> Values:
    """How many of the first n are right when each cluster stands there so many times, (top,)."""
    copies = times[cluster[: 2 * max(tops)]]  # a row has one copy on average, so these fill the places nearly always
    if copies.sum() < max(tops):
        copies = times[cluster]
    places, hits = np.cumsum(copies), np.cumsum(copies * right[: len(copies)])
    # The n-th place may be amid the copies of one row. Along these the hits rise with the places, or stay.
    found: Values = np.interp(tops, np.append(0, places), np.append(0, hits))
    return found


def draw_clusters(clusters: int, *, resamples: int, seed: int) -> Iterator[Ints]:
    """How often each is drawn when as many as there are get drawn with replacement, blocks of (resample, cluster)."""
    rng = np.random.default_rng(seed)
    for rows in _chunks(resamples, clusters):
        drawn = rng.integers(0, clusters, (rows, clusters)) + clusters * np.arange(rows)[:, None]
        yield np.bincount(drawn.reshape(-1), minlength=rows * clusters).reshape(rows, clusters)


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
