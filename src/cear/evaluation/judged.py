"""Facts that people judged true or false: how well scores tell the ones from the others."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from cear.core.errors import DataError, MismatchError, ScoreError
from cear.core.types import Bools, Floats, Ints


@dataclass(frozen=True)
class Judgement:
    """How well scores, and a threshold on them, agree with what people judged."""

    facts: int
    true: int
    threshold: float
    """A fact of at least this score is called true."""
    accuracy: float
    precision: float
    recall: float
    f1: float
    auc: float
    average_precision: float

    @classmethod
    def of(cls, scores: Floats, truth: Bools, threshold: float) -> Judgement:
        """The figures of judged facts, (fact,) each. Take the threshold from other facts: `best_threshold`.

        >>> found = Judgement.of(np.array([0.9, 0.6, 0.4]), np.array([True, False, True]), 0.5)
        >>> found.f1, found.auc
        (0.5, 0.5)
        """
        _refuse_one_kind(scores, truth)
        called = scores >= threshold
        hits, said, true = int((called & truth).sum()), int(called.sum()), int(truth.sum())
        return cls(
            facts=len(truth),
            true=true,
            threshold=float(threshold),
            accuracy=float((called == truth).mean()),
            precision=hits / max(said, 1),
            recall=hits / true,
            f1=2 * hits / (said + true),
            auc=roc_auc(scores, truth),
            average_precision=average_precision(scores, truth),
        )

    def as_json(self) -> dict[str, float]:
        """The figures as a value of JSON, unrounded."""
        return asdict(self)


def roc_auc(scores: Floats, truth: Bools) -> float:
    """The share of pairs, one true fact and one false, in which the true one scores higher; a tie is half a pair.

    >>> roc_auc(np.array([2.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False]))
    0.875
    """
    true, false = _counts(scores, truth)
    beaten = np.cumsum(false) - false / 2  # by a true fact of that score: who is below, half of who is level
    return float((true * beaten).sum() / (true.sum() * false.sum()))


def average_precision(scores: Floats, truth: Bools) -> float:
    """The mean over all true facts of the precision among those that score at least as high.

    >>> average_precision(np.array([3.0, 2.0, 1.0]), np.array([True, False, True])) == (1 + 2 / 3) / 2
    True
    """
    true, false = (each[::-1] for each in _counts(scores, truth))
    precision = np.cumsum(true) / np.cumsum(true + false)
    return float((true * precision).sum() / true.sum())


def best_threshold(scores: Floats, truth: Bools) -> float:
    """The threshold that calls most facts what they are; half way between the scores that it parts.

    Of several, the highest. It is a number of the scores' own type: comparing with it rounds nothing.

    >>> best_threshold(np.array([0.9, 0.75, 0.25, 0.1]), np.array([True, True, False, False]))
    0.5
    """
    true, false = (each[::-1] for each in _counts(scores, truth))
    values = np.unique(scores)[::-1]
    # Calling the n highest values true is right for the true facts of these and for the false facts of the others.
    right = np.cumsum(np.append(0, true - false))
    n = int(right.argmax())
    if n == 0:
        return float(np.nextafter(values[0], np.inf, dtype=values.dtype))  # nothing is called true
    if n == len(values):
        return float(values[-1])  # everything is
    above, below = values[n - 1], values[n]
    middle = above / 2 + below / 2
    return float(middle if below < middle < above else above)  # nothing lies between neighbouring numbers


def _counts(scores: Floats, truth: Bools) -> tuple[Ints, Ints]:
    """How many true facts and how many false ones have each distinct score, ascending, (value,) each."""
    _refuse_one_kind(scores, truth)
    values, place = np.unique(scores, return_inverse=True)
    true = np.bincount(place[truth], minlength=len(values))
    return true, np.bincount(place, minlength=len(values)) - true


def _refuse_one_kind(scores: Floats, truth: Bools) -> None:
    if scores.ndim != 1 or scores.shape != truth.shape:
        raise MismatchError(
            f"Scores of the shape {scores.shape} and judgements of the shape {truth.shape}; expected (fact,) for both."
        )
    if not np.isfinite(scores).all():
        row = int(np.isfinite(scores).argmin())
        raise ScoreError(f"The score of judged fact {row} is {scores[row]}; expected a finite number.")
    if truth.all() or not truth.any():
        raise DataError(
            f"Of {len(truth)} judged facts {int(truth.sum())} are true: there is nothing to tell apart. "
            "Bring true facts and false ones."
        )
