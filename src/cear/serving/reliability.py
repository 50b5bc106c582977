"""Whether probabilities keep their word: of the facts that people decided about, how many they said were right."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cear.core.types import Bools, Floats, Ints
from cear.evaluation import wilson_interval
from cear.serving.decisions import Decision, Verdict
from cear.serving.review import ReviewQueue
from cear.serving.review_models import Bin, ReviewSummary

BINS = 10  # of equal width, so that the curve grows in place while decisions come in


def review_summary(queue: ReviewQueue) -> ReviewSummary:
    """How far the review is, and what was promised against what people said.

    Decisions about facts that were not proposed count as decisions; without a probability nothing was promised of them.
    """
    last = queue.decided()
    p, right = promised_and_right(last)
    low, high = wilson_interval(int(right.sum()), len(right))
    return ReviewSummary(
        accepted=_count(last, "accepted"),
        rejected=_count(last, "rejected"),
        skipped=_count(last, "skipped"),
        open=queue.progress()["open"],
        promised=float(p.sum()),
        right=int(right.sum()),
        judged=len(right),
        low=low,
        high=high,
        reliability=reliability_bins(p, right),
        relations=queue.by_relation(),
        last=max((each.number for each in last), default=0),
    )


def promised_and_right(last: Iterable[Decision]) -> tuple[Floats, Bools]:
    """The probability of each fact that was accepted or rejected, and whether it was accepted, (fact,) each."""
    pairs = [
        (each.probability, each.verdict == "accepted")
        for each in last
        if each.probability is not None and each.verdict in ("accepted", "rejected")
    ]
    return np.array([p for p, _ in pairs], np.float64), np.array([right for _, right in pairs], bool)


def reliability_bins(p: Floats, right: Bools) -> list[Bin]:
    """The bins of probabilities that hold any fact, the least probable first."""
    place = np.minimum((p * BINS).astype(np.int64), BINS - 1)  # 1.0 belongs to the last
    return [_bin(number, p[place == number], right[place == number]) for number in _distinct(place)]


def _bin(number: int, p: Floats, right: Bools) -> Bin:
    hits, count = int(right.sum()), len(right)
    low, high = wilson_interval(hits, count)
    ends = {"from": number / BINS, "to": (number + 1) / BINS}
    return Bin(**ends, said=float(p.mean()), came_true=hits / count, low=low, high=high, count=count)


def _distinct(place: Ints) -> list[int]:
    found: list[int] = np.unique(place).tolist()
    return found


def _count(last: Iterable[Decision], verdict: Verdict) -> int:
    return sum(each.verdict == verdict for each in last)
