"""`fit`: a run on your own data whose settings are found in the time that you give it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cear.core.errors import ConfigError
from cear.core.files import read_json, write_json
from cear.core.progress import Progress, silent
from cear.pipeline import Run, run
from cear.tuning.changes import changes_for
from cear.tuning.profile import Profile
from cear.tuning.search import Place, Search, Trial, found_of

FOUND = "fit.json"  # in the folder of the run
SEARCHING = 2 / 3  # of the time; the rest is for probabilities, and for retrievers that learn from all facts
LEAST = 1.0  # minutes


@dataclass(frozen=True, eq=False)
class Fitted:
    """A finished run, and how its settings were found."""

    run: Run
    found: Mapping[str, Any]
    """As in fit.json: the profile, all trials, what there was no time for."""

    @property
    def overrides(self) -> list[str]:
        """What it changes in `own`: `cear run own data=… OVERRIDES` is the same run."""
        return list(self.found["overrides"])

    @property
    def trials(self) -> list[Trial]:
        """What was tried, in that order."""
        return [Trial.from_json(each) for each in self.found["trials"]]

    def next_steps(self, most: int = 3) -> str:
        """What more time would be spent on, as a sentence."""
        told = [f"{each['change']} (about {_minutes(each['seconds'])})" for each in self.found["left_out"][:most]]
        if not told:
            return "Everything that it knows to try was tried: more time would change nothing."
        return f"With more time it would try next: {', '.join(told)}."


def fit(
    data: str,
    out: Path | str,
    *,
    minutes: float = 30,
    store: Path | str | None = None,
    seed: int = 0,
    progress: Progress = silent,
    tell: Callable[[Profile | Trial], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Fitted:
    """A run of the settings that do best on validation among those that fit the time; `tell` hears of each trial.

    The default comes first, shortened if it is too long for the time, then one change after the other; a change
    stays if the whole system gains more than chance. Every trial is steps that are kept: called again after an
    interruption, it goes on. A folder in which a search has ended is finished as it was found.
    """
    place = Place(data, Path(out), store, seed, progress)
    _refuse(place, minutes)
    found = _found(place.out) or _searched(place, clock() + 60 * minutes * SEARCHING, tell, clock)
    return Fitted(run(place.config(found["overrides"]), place.out, store=store, progress=progress), found)


def _searched(
    place: Place, until: float, tell: Callable[[Profile | Trial], None], clock: Callable[[], float]
) -> Mapping[str, Any]:
    """What a search until then finds, written down."""
    profile = Profile.of(place.plan(()).kb)
    tell(profile)
    search = Search(place, until, tell, clock)
    search.start()
    search.go_through(changes_for(profile))
    place.out.mkdir(parents=True, exist_ok=True)
    write_json(place.out / FOUND, found_of(profile, search) | {"data": place.data, "seed": place.seed})
    found: Mapping[str, Any] = read_json(place.out / FOUND)
    return found


def _found(out: Path) -> Mapping[str, Any] | None:
    """What an earlier call found for this folder."""
    return read_json(out / FOUND) if (out / FOUND).exists() else None


def _refuse(place: Place, minutes: float) -> None:
    """Refuse too little time, and a folder that is something else, before any of it is spent."""
    if minutes < LEAST:
        raise ConfigError(f"minutes: {minutes:g} is too short to try anything. Give at least {LEAST:g}.")
    found, taken = _found(place.out), (place.out / "run.json").exists()
    if found is None and taken:
        raise ConfigError(
            f"{place.out} holds a run that was not fitted. Give another folder (--out); with --store {place.out}/steps "
            "it reuses what is there."
        )
    if found is not None and (found["data"], found["seed"]) != (place.data, place.seed):
        raise ConfigError(
            f"{place.out} was fitted to {found['data']} with seed {found['seed']}. Give another folder (--out)."
        )


def _minutes(seconds: float) -> str:
    return f"{max(seconds / 60, 1):.0f} min"
