"""Work cut into blocks whose memory is bounded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cear.core.types import Ints

BUDGET = 256 * 2**20  # bytes in a block: large enough for fast matrix products, small for any laptop


def blocks(total: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `size` that cover `total`.

    >>> [*blocks(5, 2)]
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, total, max(size, 1)):
        yield slice(start, min(start + max(size, 1), total))


def blocks_of(sizes: Ints, most: int) -> Iterator[slice]:
    """Consecutive slices of things that have at most `most` together; one that has more is alone.

    >>> [*blocks_of(np.array([2, 1, 9, 1]), 3)]
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, before + most, side="right")), start + 1)
        yield slice(start, stop)
        start = stop


def rows_within(row_bytes: int, *, budget: int = BUDGET, least: int = 1) -> int:
    """How many rows of so many bytes fit into the budget; `least` where fewer would."""
    return max(budget // max(row_bytes, 1), least)
