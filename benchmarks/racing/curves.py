"""Validation MRR against seconds of training, and what is read off two such curves."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass

from cear.core.context import NO_DEADLINE, Deadline
from cear.core.errors import OutOfTime
from cear.core.types import SPLITS
from cear.data import KnowledgeBase, KnownAnswers
from cear.evaluation import ScoresEntities, measure, rank_all


@dataclass(frozen=True)
class Lap:
    """Where a training stands after an epoch; seconds are those of training alone, from its beginning."""

    epoch: int
    seconds: float
    cpu_seconds: float
    """Of all threads: what the training cost, also where other work held it up."""
    valid_mrr: float


Curve = list[Lap]


@dataclass(frozen=True)
class Finish:
    """A training is over when the first of these is reached."""

    mrr: float = math.inf
    seconds: float = math.inf
    epochs: int = 10_000

    def reached(self, lap: Lap) -> bool:
        """Whether there is nothing more to see."""
        return lap.valid_mrr >= self.mrr or lap.seconds >= self.seconds or lap.epoch >= self.epochs


class Follower:
    """Validation MRR after each epoch; the clock stands still while we evaluate."""

    def __init__(
        self, side: str, kb: KnowledgeBase, known: KnownAnswers, finish: Finish, deadline: Deadline = NO_DEADLINE
    ) -> None:
        """`known` is what the filter removes. The clock starts now: building a model counts."""
        self.side, self.kb, self.finish, self.deadline = side, kb, finish, deadline
        self.curve: Curve = []
        self._known = known
        self._seconds, self._cpu_seconds = 0.0, 0.0
        self._start()

    def goes_on(self, model: ScoresEntities) -> bool:
        """Note how good the model is after one more epoch, and say whether another one is wanted."""
        self._seconds += time.perf_counter() - self._since
        self._cpu_seconds += time.process_time() - self._cpu_since
        lap = Lap(len(self.curve) + 1, self._seconds, self._cpu_seconds, self._valid_mrr(model))
        self.curve.append(lap)
        print(f"{self.side:>8}: epoch {lap.epoch:3d}, {lap.seconds:7.1f} s, MRR {lap.valid_mrr:.4f}", flush=True)
        if self.finish.reached(lap):
            return False
        if self.deadline.passed():
            raise OutOfTime("--minutes are over. Finished trials are kept; the same command goes on behind them.")
        self._start()
        return True

    def _start(self) -> None:
        self._since, self._cpu_since = time.perf_counter(), time.process_time()

    def _valid_mrr(self, model: ScoresEntities) -> float:
        ranks = rank_all(model, self.kb.queries("valid"), self.kb.gold("valid"), self._known)
        return measure(ranks)["mrr"]


def first_facts(kb: KnowledgeBase, facts: int | None = None) -> KnowledgeBase:
    """The knowledge base with so many facts of each split, or all, made anew: nothing is indexed yet."""
    return KnowledgeBase(kb.name, kb.entities, kb.relations, {split: kb.facts(split)[:facts] for split in SPLITS})


def seconds_to(curve: Curve, mrr: float) -> float | None:
    """Seconds until the first epoch after which a training has this MRR, or None where it never has."""
    return next((lap.seconds for lap in curve if lap.valid_mrr >= mrr), None)


def per_epoch(curve: Curve) -> dict[str, float]:
    """The median over epochs of the seconds that one takes, by the clock and of all processors."""
    before = [Lap(0, 0.0, 0.0, 0.0), *curve]
    pairs = list(zip(before, curve, strict=False))
    return {
        "seconds": statistics.median(b.seconds - a.seconds for a, b in pairs),
        "cpu_seconds": statistics.median(b.cpu_seconds - a.cpu_seconds for a, b in pairs),
    }


def equal_mrr(ours: Curve, theirs: Curve) -> list[dict[str, float | None]]:
    """For each MRR that the other side has had after an epoch, the seconds of both to it and their ratio.

    All of its epochs, so that nobody chooses where the two are compared; None where our curve stays below.
    """
    found = []
    for lap in theirs:
        a, b = seconds_to(ours, lap.valid_mrr), seconds_to(theirs, lap.valid_mrr)
        ratio = None if a is None or b is None else b / a
        found.append({"valid_mrr": lap.valid_mrr, "ours": a, "theirs": b, "times_faster": ratio})
    return found
