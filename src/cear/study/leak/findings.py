"""What the experiment found: the figures of each arm beside those of Stage 1, and what our own check says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cear.core.errors import UnknownName
from cear.core.types import SPLITS, Ints
from cear.data import KnowledgeBase
from cear.evaluation import MRR, Evaluation, Hits, LeakReport, compare
from cear.study.leak.arms import Made

OTHERS = {"0": (0, 0), "1": (1, 1), "2-4": (2, 4), "5-19": (5, 19), "20+": (20, np.inf)}
"""Groups of queries by how many answers are known beside the gold: so many share its block of equal scores."""

MEASURES = (MRR(), Hits(1), Hits(10))  # that are compared with Stage 1

Figures = dict[str, Any]  # a value of JSON


@dataclass(frozen=True)
class ArmFigures:
    """One arm on the measured queries: a Stage 2 that has learned, or a reader written by hand."""

    made: Made
    """How its lists were made."""
    name: str
    """The variant of the re-ranker, or the reader."""
    summary: dict[str, dict[str, float]]
    """Each measure for both sides, for heads and for tails."""
    intervals: dict[str, dict[str, tuple[float, float]]]
    """By drawing distinct queries."""
    difference: dict[str, Figures]
    """It minus Stage 1 in each measure, paired by distinct query: difference, low, high, p."""
    listed: float
    """The share of golds in the lists: no H@k within the list is above it."""
    by_others: dict[str, dict[str, float]]
    """Queries, H@1 of Stage 1 and of this, by how many other answers are known."""


@dataclass(frozen=True)
class LeakFindings:
    """The experiment, ready to be drawn."""

    data: str
    digest: str
    queries: int
    settings: Figures
    stage1: dict[str, dict[str, float]]
    stage1_intervals: dict[str, dict[str, tuple[float, float]]]
    arms: tuple[ArmFigures, ...]
    readers: tuple[ArmFigures, ...]
    """What there is to be found in the lists: by readers that learn nothing."""
    unsettled: Mapping[Made, float]
    """The share of training lists in which a stranger stands before an answer: of the others Stage 2 learns to trust
    Stage 1's order, however much they give away."""
    check: Mapping[Made, Figures]
    """What the check for leaks says of the lists: queries, checked, marked, share, and whether it refuses them."""

    def as_json(self) -> Figures:
        """All figures, unrounded, as a value of JSON."""
        return asdict(self)

    def of(self, made: Made, name: str) -> ArmFigures:
        """The figures of a variant or of a reader on honest or on leaky lists."""
        there = {(each.made, each.name): each for each in (*self.arms, *self.readers)}
        if (made, name) not in there:
            known = ", ".join(f"{a} {b}" for a, b in there)
            raise UnknownName(f"The experiment has no arm {made} {name}. It has: {known}.")
        return there[made, name]


def figures_of(made: Made, name: str, measured: Evaluation, others: Ints) -> ArmFigures:
    """The figures of an arm; `others` are the known answers of each query beside its gold, (query,)."""
    assert measured.before is not None
    assert measured.listed is not None
    gains = compare(measured.before, measured, measures=MEASURES)
    return ArmFigures(
        made,
        name,
        measured.summary(),
        measured.intervals(),
        {name: asdict(each) | {"difference": each.difference} for name, each in gains.items()},
        float(measured.listed.mean()),
        by_others(measured, others),
    )


def by_others(measured: Evaluation, others: Ints) -> dict[str, dict[str, float]]:
    """Queries, H@1 of Stage 1 and of Stage 2 in each group of `OTHERS` that occurs."""
    assert measured.before is not None
    first, second = (each.values([Hits(1)])[:, 0] for each in (measured.before, measured))
    groups = {name: (others >= low) & (others <= high) for name, (low, high) in OTHERS.items()}
    return {
        name: {"queries": int(which.sum()), "stage1": float(first[which].mean()), "stage2": float(second[which].mean())}
        for name, which in groups.items()
        if which.any()
    }


def known_beside_gold(kb: KnowledgeBase, measured: Evaluation) -> Ints:
    """How many answers of each query are known in any split beside its gold, (query,)."""
    return kb.known(*SPLITS).of_queries(measured.queries).counts - 1


def checked(report: LeakReport) -> Figures:
    """A report of the check for leaks as a value of JSON."""
    return asdict(report) | {"share": report.share, "refused": report.leaks}
