"""Small steps of counting on sorted integers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from cear.core.counting import starts_run
from cear.core.types import Floats, Ints


def total_counts(parts: Iterable[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Each key once, ascending, with the sum of its counts over all parts."""
    keys, counts = (np.concatenate([np.zeros(0, np.int64), *column]) for column in _columns(parts))
    order = np.argsort(keys, kind="stable")
    first = np.flatnonzero(starts_run(keys[order]))
    sums: Ints = np.add.reduceat(counts[order], first) if len(first) else counts
    return keys[order][first], sums


def best_per_group(group: npt.NDArray[np.integer], value: Floats, k: int) -> Ints:
    """Places of the k highest values of each group: group by group, highest first, earlier places before equal ones."""
    order = np.lexsort((-value, group))
    first = np.flatnonzero(starts_run(group[order]))
    place_in_group = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    return order[place_in_group < k]


def _columns(parts: Iterable[tuple[Ints, Ints]]) -> tuple[list[Ints], list[Ints]]:
    both = list(parts)
    return [keys for keys, _ in both], [counts for _, counts in both]
