"""Measures of a ranking, as small objects: called with ranks, they give a value per query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cear.core.types import Ranks, TieRule

Values = npt.NDArray[np.float64]


class Measure(Protocol):
    """A value of each rank; its mean over queries is what tables show."""

    @property
    def name(self) -> str:
        """What records and tables call it."""

    def __call__(self, ranks: Values) -> Values:
        """The value of each rank, (query,)."""


@dataclass(frozen=True)
class MRR:
    """The reciprocal rank; its mean is the MRR.

    >>> MRR()(np.array([1.0, 2.5]))
    array([1. , 0.4])
    """

    name: str = "mrr"

    def __call__(self, ranks: Values) -> Values:
        """One over each rank."""
        return 1.0 / ranks


@dataclass(frozen=True)
class Hits:
    """Whether the gold is among the first k; its mean is Hits@k.

    >>> Hits(1).name, Hits(1)(np.array([1.0, 1.5]))
    ('hits@1', array([1., 0.]))
    """

    k: int

    @property
    def name(self) -> str:
        """The name with its k."""
        return f"hits@{self.k}"

    def __call__(self, ranks: Values) -> Values:
        """1 for a rank of k or better, else 0."""
        return (ranks <= self.k).astype(np.float64)


STANDARD: tuple[Measure, ...] = (MRR(), Hits(1), Hits(3), Hits(10), Hits(50))


def measure(ranks: Ranks, ties: TieRule = "expected", measures: Sequence[Measure] = STANDARD) -> dict[str, float]:
    """The mean of each measure over all queries, unrounded."""
    values = ranks.under(ties)
    return {each.name: float(each(values).mean()) for each in measures}
