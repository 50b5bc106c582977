"""A promise that a curator understands: above this threshold at most so many of the proposals are false."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cear.completion.calibration import Calibrator
from cear.completion.proposals import Proposals
from cear.core.types import Floats

CONFIDENCE = 0.95
_DRAWS = 400
_LEAST = 20  # proposals that a promise is about, at the least


@dataclass(frozen=True)
class Promise:
    """A threshold above which at most a share of the proposals is false."""

    max_false: float
    threshold: float | None
    """None where validation is not sure enough of any."""
    proposals: int
    """That are at least as probable."""
    confidence: float = CONFIDENCE


def promise(calibrator: Calibrator, proposals: Proposals, max_false: float, *, seed: int = 0) -> Promise:
    """The lowest threshold that keeps the promise with 95 % confidence, for these proposals.

    What is not sure is how validation scales the probabilities, which few facts tell badly, and the luck of so many
    facts, each true with its probability. Thresholds are tried from the most certain proposals down until one fails.
    """
    shown = calibrator.probability(proposals)
    order = np.argsort(-shown, kind="stable")
    certain = order[: int((shown > max(1 - 2 * max_false, 0)).sum())]  # nothing further down can be in a promise
    if len(certain) < _LEAST:
        return Promise(max_false, None, 0)
    drawn = calibrator.draws(proposals[certain], _DRAWS, seed=seed)
    ends = np.flatnonzero(np.append(np.diff(shown[certain]) < 0, True))  # a threshold parts no equal ones
    ends = ends[ends >= _LEAST - 1]
    kept = np.flatnonzero(_lower_ends(drawn)[ends] >= 1 - max_false)
    if not len(kept):
        return Promise(max_false, None, 0)
    failed = np.flatnonzero(np.append(np.diff(kept) > 1, True))
    size = int(ends[kept[failed[0]]]) + 1
    return Promise(max_false, float(shown[certain[size - 1]]), size)


def _lower_ends(drawn: Floats) -> Floats:
    """The precision of the first n that is surpassed with confidence, for every n, (n,)."""
    n = np.arange(1, drawn.shape[1] + 1)
    means = np.cumsum(drawn, axis=1) / n
    luck = np.sqrt(np.cumsum(drawn * (1 - drawn), axis=1)) / n
    shaken = means + luck * np.random.default_rng(len(n)).standard_normal((len(drawn), 1))
    return np.asarray(np.quantile(shaken, 1 - CONFIDENCE, axis=0))
