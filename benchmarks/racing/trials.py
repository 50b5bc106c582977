"""What each side may choose for itself before the race, by short trials on the validation facts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cear.core.errors import MismatchError
from cear.core.files import read_json, write_json
from racing.curves import Curve, Lap


@dataclass(frozen=True)
class Choice:
    """What is tuned."""

    n3: float
    """The weight of the regulariser."""
    batch: int
    """Distinct queries in a step."""
    facts_count: bool = True
    """A query counts as often as it has answers, as in our loss; PyKEEN may also count each query once."""


Run = Callable[[Choice], Curve]
Trials = dict[Choice, Curve]


def tuned(start: Choice, grid: Mapping[str, Sequence[Any]], run: Run) -> tuple[Choice, Trials]:
    """The best choice, found one setting after the other from `start` on, and all trials."""
    trials: Trials = {}
    best = start
    for setting, values in grid.items():
        rivals = list(dict.fromkeys([best, *(replace(best, **{setting: value}) for value in values)]))
        for choice in rivals:
            if choice not in trials:
                trials[choice] = run(choice)
        best = best_of({choice: trials[choice] for choice in rivals})
    return best, trials


def best_of(trials: Trials) -> Choice:
    """The choice with the highest MRR at one moment, that at which the first of the trials was done.

    The race is about seconds, and an epoch of small batches takes longer. Between epochs curves are straight lines.
    """
    moment = min(curve[-1].seconds for curve in trials.values())
    return max(trials, key=lambda choice: _mrr_at(trials[choice], moment))


def _mrr_at(curve: Curve, moment: float) -> float:
    seconds, mrrs = ([0.0, *values] for values in zip(*((lap.seconds, lap.valid_mrr) for lap in curve), strict=True))
    return float(np.interp(moment, seconds, mrrs))


class Kept:
    """Trials in a file, each written when it is done: a race that was stopped goes on behind them."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Refuses a file of trials that were made with other `settings`."""
        self._path, self._settings = path, dict(settings)
        there = read_json(path) if path.exists() else {"settings": self._settings, "trials": {}}
        if there["settings"] != self._settings:
            raise MismatchError(
                f"{path} has the trials of another race, with {there['settings']} rather than {self._settings}. "
                "Repeat that command, or delete the file, or name another one with --trials."
            )
        self._trials: dict[str, list[dict[str, Any]]] = there["trials"]

    def trial(self, side: str, choice: Choice, run: Run) -> Curve:
        """The curve of a choice, from the file or made now."""
        name = f"{side} {json.dumps(asdict(choice))}"
        if name not in self._trials:
            self._trials[name] = [asdict(lap) for lap in run(choice)]
            write_json(self._path, {"settings": self._settings, "trials": self._trials})
        return [Lap(**lap) for lap in self._trials[name]]

    def clear(self) -> None:
        """Delete the file: the record has all of it."""
        self._path.unlink(missing_ok=True)
