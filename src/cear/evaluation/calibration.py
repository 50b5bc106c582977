"""Whether probabilities mean what they say: of facts proposed with .8, eight in ten should be right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from cear.core.errors import ConfigError, MismatchError, ScoreError
from cear.core.types import Bools, Floats, Ints, Ragged
from cear.evaluation.measures import Values

FLOOR = 0.05  # most of what is asked is improbable, and its many zeros would make any figure look good
BINS = 15
EPSILON = float(np.finfo(np.float64).eps)  # a wrong fact said to be certain costs 36, not infinitely much


@dataclass(frozen=True)
class ReliabilityBin:
    """Proposals of similar probability."""

    count: int
    mean: float
    """Their mean probability."""
    share: float
    """The share of them that is right."""
    low: float
    """Lower end of the Wilson 95 % interval of the share."""
    high: float


@dataclass(frozen=True)
class Calibration:
    """How well probabilities agree with what is right, over the proposals whose probability is at least the floor."""

    floor: float
    count: int
    right: int
    expected: float
    """The sum of the probabilities: as many would be right if they meant what they say."""
    log_loss: float
    brier: float
    ece: float
    """Expected calibration error: the mean distance between probability and share right, bin by bin."""
    bins: tuple[ReliabilityBin, ...]
    """The least probable first."""
    below: int
    """Proposals under the floor, in none of the figures above."""
    right_below: int

    @classmethod
    def of(cls, probabilities: Floats, right: Bools, *, bins: int = BINS, floor: float = FLOOR) -> Calibration:
        """The figures of proposals, (proposal,) each; all means are 0 where no probability reaches the floor.

        >>> found = Calibration.of(np.array([0.75, 0.75, 0.5, 0.01]), np.array([True, True, False, False]), bins=2)
        >>> found.count, found.right, found.expected, found.below
        (3, 2, 2.0, 1)
        """
        _refuse_no_probabilities(probabilities, right)
        if bins < 1:
            raise ConfigError(f"There are to be {bins} bins of probabilities; expected 1 or more.")
        p, hit = _sorted(probabilities, right)
        kept = p >= floor
        below, right_below = int((~kept).sum()), int(hit[~kept].sum())
        p, hit = p[kept], hit[kept]
        found = tuple(_bins(p, hit, bins))
        return cls(
            floor=float(floor),
            count=len(p),
            right=int(hit.sum()),
            expected=float(p.sum()),
            log_loss=_mean(-np.log(np.clip(np.where(hit, p, 1 - p), EPSILON, 1 - EPSILON))),
            brier=_mean((p - hit) ** 2),
            ece=sum(each.count * abs(each.mean - each.share) for each in found) / max(len(p), 1),
            bins=found,
            below=below,
            right_below=right_below,
        )

    def as_json(self) -> dict[str, Any]:
        """The calibration as a value of JSON, unrounded."""
        return {**asdict(self), "bins": [asdict(each) for each in self.bins]}


def calibration_by_relation(
    relations: Ints, probabilities: Floats, right: Bools, *, bins: int = BINS, floor: float = FLOOR
) -> dict[int, Calibration]:
    """The calibration of each relation's proposals; `relations` is that of each proposal, (proposal,)."""
    if len(relations) != len(probabilities):
        raise MismatchError(f"{len(relations)} relations are given for {len(probabilities)} probabilities.")
    _refuse_no_probabilities(probabilities, right)
    rows = Ragged.grouped(relations, np.arange(len(relations)), 0)
    of = {r: rows.row(r) for r in np.flatnonzero(rows.counts).tolist()}
    return {r: Calibration.of(probabilities[i], right[i], bins=bins, floor=floor) for r, i in of.items()}


def wilson_interval(right: int, count: int, *, level: float = 0.95) -> tuple[float, float]:
    """The interval of a share, `right` of `count` (Wilson 1927, without continuity correction); 0 to 1 for none.

    It lies within 0 and 1 and has a width also where all or none are right.
    """
    if not count:
        return 0.0, 1.0
    z, share = NormalDist().inv_cdf((1 + level) / 2), right / count
    shrink = 1 + z**2 / count
    middle = (share + z**2 / (2 * count)) / shrink
    half = z / shrink * sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _sorted(probabilities: Floats, right: Bools) -> tuple[Values, Bools]:
    """Both in ascending order, equal rows together, so that sums are the same to the last bit in any order of rows."""
    order = np.lexsort((right, probabilities))
    return probabilities[order].astype(np.float64), right[order]


def _bins(p: Values, right: Bools, bins: int) -> Iterator[ReliabilityBin]:
    """The bins of ascending probabilities, as equal in size as ties allow."""
    _, place, counts = np.unique(_bin_of(p, bins), return_inverse=True, return_counts=True)
    sums, hits = np.bincount(place, weights=p), np.bincount(place[right], minlength=len(counts))
    for count, total, hit in zip(counts.tolist(), sums.tolist(), hits.tolist(), strict=True):
        yield ReliabilityBin(count, total / count, hit / count, *wilson_interval(hit, count))


def _bin_of(p: Values, bins: int) -> Ints:
    """The bin of each of ascending probabilities, (proposal,); equal ones go where the middle of them belongs."""
    first, last = np.searchsorted(p, p, side="left"), np.searchsorted(p, p, side="right") - 1
    return (first + last) * bins // (2 * len(p))


def _mean(values: Floats) -> float:
    return float(values.sum() / max(len(values), 1))


def _refuse_no_probabilities(probabilities: Floats, right: Bools) -> None:
    if probabilities.ndim != 1 or probabilities.shape != right.shape:
        raise MismatchError(
            f"Probabilities of the shape {probabilities.shape} and judgements of the shape {right.shape}; expected "
            "(proposal,) for both."
        )
    bad = ~((probabilities >= 0) & (probabilities <= 1))  # true of NaN, too
    if bad.any():
        row = int(bad.argmax())
        raise ScoreError(
            f"Probability {probabilities[row]} of proposal {row} is not between 0 and 1; {bad.sum()} of {len(bad)} "
            "are not. Calibrate scores before you measure them as probabilities."
        )
