"""The search: trials of whole systems, judged on validation, as many as the time allows."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from cear.config import RunConfig, load_config
from cear.core.errors import OutOfTime
from cear.core.progress import Progress, silent
from cear.evaluation import Evaluation, compare
from cear.pipeline import Plan, Run, lay_out
from cear.steps import Step
from cear.tuning.changes import BASE, Change
from cear.tuning.profile import Profile

FACTS = 1000  # validation facts that judge a system
FIRST = 0.4  # of the time of the search: what the first system may take
SHORTEST = 5  # epochs: less is no training
LEVEL = 0.68  # of the interval that a gain has to be above: one standard error
UNFINISHED = ("calibration=null", "refit=false")  # what a trial leaves to the end


@dataclass(frozen=True)
class Trial:
    """A system that was tried."""

    change: str
    overrides: tuple[str, ...]
    """All that it changes in the base."""
    seconds: float
    mrr: float | None
    """On validation; None where the time did not suffice."""
    gain: tuple[float, float, float] | None = None
    """Of MRR over the best before it, with the interval of one standard error."""
    kept: bool = False
    """Whether it was the best so far, by more than chance."""

    @property
    def in_words(self) -> str:
        """What came of it, as a line."""
        if self.mrr is None:
            return f"{self.change}: not done after {self.seconds:.0f} s, left out"
        gain = "" if self.gain is None else f", {self.gain[0]:+.4f}: {'kept' if self.kept else 'not kept'}"
        return f"{self.change}: MRR {self.mrr:.4f} on validation after {self.seconds:.0f} s{gain}"

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """The trial that a file of findings has."""
        tuples = {name: tuple(values[name]) for name in ("overrides", "gain") if values[name] is not None}
        return cls(**values | tuples)


@dataclass(frozen=True)
class Place:
    """Where trials are made."""

    data: str
    out: Path
    store: Path | str | None = None
    seed: int = 0
    progress: Progress = silent

    def config(self, overrides: Sequence[str]) -> RunConfig:
        """The base with overrides."""
        return load_config(BASE, [f"data={self.data}", f"seed={self.seed}", *overrides])

    def plan(self, overrides: Sequence[str], seconds: float | None = None) -> Plan:
        """The steps of a system, to be made in so many seconds."""
        config, minutes = self.config([*overrides, *UNFINISHED]), None if seconds is None else max(seconds, 1.0) / 60
        return lay_out(config, self.out, store=self.store, minutes=minutes, progress=self.progress)


@dataclass
class Search:
    """One change after the other on top of the best system so far, until the time is over."""

    place: Place
    until: float
    """When it has to end, by the clock."""
    tell: Callable[[Trial], None]
    clock: Callable[[], float] = time.monotonic
    trials: list[Trial] = field(default_factory=list)
    left_out: list[tuple[Change, float]] = field(default_factory=list)
    """What there was no time for, with the seconds that it would have taken."""
    overrides: tuple[str, ...] = ()
    """What the best system changes in the base."""
    best: Evaluation | None = None
    """How the best system ranks validation facts."""
    costs: dict[str, float] = field(default_factory=dict)
    """What its steps took, by name."""

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.until - self.clock()

    def start(self) -> None:
        """Try the base, or, where that would take most of the time, the same with shorter trainings."""
        shorter = self._affordable()
        self._try("the default" if not shorter else "the default, trained for a shorter time", shorter, None)

    def go_through(self, changes: Sequence[Change]) -> None:
        """Try each change that there is time for."""
        for change in changes:
            overrides = (*self.overrides, *change.overrides)
            expected = change.times * self.expected(self.place.plan(overrides))
            if expected > self.left:
                self.left_out.append((change, expected))
            else:
                self._try(change.name, overrides, self.left)

    def expected(self, plan: Plan) -> float:
        """About how many seconds the missing steps of a system take: as long as those of the best."""
        chain = {each.key: each for step in plan.system for each in step.chain()}
        return sum(self._as_before(step) for step in chain.values() if not plan.store.has(step))

    def _as_before(self, step: Step) -> float:
        """What a step of that name took; of another fold that of the first, of a new retriever that of Stage 1."""
        first = re.sub(r"^fold \d+", "fold 0", step.name)
        stage1 = f"{first.rpartition(' ')[0]} stage1".strip()
        return next((self.costs[name] for name in (step.name, first, stage1) if name in self.costs), 0.0)

    def _affordable(self) -> tuple[str, ...]:
        """No change if the base fits into its share of the time; else fewer epochs of Stage 1, in large steps."""
        config, seconds = self.place.config(()), self.seconds_of_an_epoch()
        folds, values = config.candidates.crossfit, config.stage1.model_dump()
        assert folds is not None
        full = values["epochs"] + folds.held_out_folds * (folds.epochs or values["epochs"])
        affordable = int(FIRST * self.left / seconds * values["epochs"] / full)
        if affordable >= values["epochs"]:
            return ()
        epochs = max(affordable, SHORTEST)
        return (
            f"stage1.epochs={epochs}",
            f"stage1.validate_every={max(epochs // 2, 1)}",
            "stage1.optimizer={kind: adagrad, learning_rate: 0.3, decay: linear}",
            f"candidates.crossfit.epochs={epochs}",
            "candidates.crossfit.held_out_folds=1",
        )

    def seconds_of_an_epoch(self) -> float:
        """What one epoch of Stage 1 takes here."""
        plan = self.place.plan(("stage1.epochs=1", "stage1.validate_every=1", "reranker=null"))
        step = plan.stage1["stage1"]
        plan.store.get(step)
        return plan.store.report(step).spent.seconds

    def _try(self, name: str, overrides: tuple[str, ...], seconds: float | None) -> None:
        start = self.clock()
        try:
            evaluation, costs = self.measured(self.place.plan(overrides, seconds))
        except OutOfTime:
            self._note(Trial(name, overrides, self.clock() - start, None))
            return
        mrr, took = evaluation.summary()["both"]["mrr"], self.clock() - start
        gain = None if self.best is None else gain_over(self.best, evaluation)
        kept = gain is None or gain[1] > 0
        if kept:
            self.best, self.overrides, self.costs = evaluation, overrides, {**self.costs, **costs}
        self._note(Trial(name, overrides, took, mrr, gain, kept))

    def _note(self, trial: Trial) -> None:
        self.trials.append(trial)
        self.tell(trial)

    def measured(self, plan: Plan) -> tuple[Evaluation, Mapping[str, float]]:
        """How a system ranks validation facts, and what each of its steps took."""
        plan.preflight()
        plan.store.get_all(plan.system)
        run = Run(self.place.out, plan)
        facts = min(FACTS, len(plan.kb.facts("valid")))
        evaluation = run.evaluate("valid", facts=facts)
        return evaluation, {report.name: report.spent.seconds for report in run.steps()}


def gain_over(before: Evaluation, now: Evaluation) -> tuple[float, float, float]:
    """What a system gains in MRR over another, with the interval of one standard error."""
    found: Any = compare(before, now, level=LEVEL)["mrr"]
    return found.difference, found.low, found.high


def found_of(profile: Profile, search: Search) -> dict[str, Any]:
    """What a search found, as a value of JSON."""
    return {
        "profile": vars(profile),
        "overrides": list(search.overrides),
        "trials": [vars(trial) | {"overrides": list(trial.overrides)} for trial in search.trials],
        "left_out": [{"change": change.name, "seconds": seconds} for change, seconds in search.left_out],
    }
