"""Where steps are kept: a folder for each key, there whole or not at all, locked while it is made.

store/retriever/3f2a…/            a finished step: what it wrote, step.json, which says what it is and cost, and
                                  seal.json, which says what every file held: a damaged step is not used
store/retriever/3f2a….partial/    one that is being made, or was interrupted: it goes on from there
store/retriever/3f2a….lock        held by whoever makes it
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from cear import __version__
from cear.core.context import Context
from cear.core.files import write_json
from cear.core.machine import checkout
from cear.core.names import identifier
from cear.core.seals import SEAL, flaw_of, seal
from cear.steps.kept import REPORT, Kept, look
from cear.steps.meter import Meter, Spent
from cear.steps.step import Step, StepReport
from cear.training import Workers

log = logging.getLogger("cear.steps")

ACCOUNT = "spent.json"
_LEFT_BEHIND = "checkpoint.safetensors"  # what a training goes on from is of no use when it is done


class Store:
    """Finds finished steps in several folders, and makes the others in the first."""

    def __init__(self, folder: Path, *, others: Sequence[Path] = (), context: Context) -> None:
        """`others` are only read."""
        self.folder, self._others = folder, tuple(others)
        self._context = context
        self.reports: dict[str, StepReport] = {}
        """Of every step that was asked for, by key."""
        self._flaws: dict[Path, str | None] = {}
        """Of every folder whose files were looked at: that is done once."""
        self._told: set[Path] = set()

    def get(self, step: Step) -> Path:
        """The folder of a finished step; made now, inputs first, unless it is kept. A damaged one is made again."""
        found = self._find(step)
        if found is None:
            return self._made(step)
        if step.key not in self.reports:
            self._note(step, found)
            log.debug("%s is reused from %s.", step.name, found.place)
        return found.place

    def has(self, step: Step) -> bool:
        """Whether a step is finished, as its report says; `flaw` looks at its files, too."""
        return any(kept.report is not None for kept in self._kept(step))

    def flaw(self, step: Step) -> str | None:
        """What is damaged of a step, in words; None where there is a whole one, or none at all."""
        flaws = [self._flaw(kept) for kept in self._kept(step) if kept.report or kept.flaw]
        return None if None in flaws else next(iter(flaws), None)

    def report(self, step: Step) -> StepReport:
        """What a step cost; it must be finished."""
        if step.key not in self.reports:
            kept = next((kept for kept in self._kept(step) if kept.report is not None), None)
            self.get(step) if kept is None else self._note(step, kept)
        return self.reports[step.key]

    def _note(self, step: Step, kept: Kept) -> None:
        assert kept.report is not None
        self.reports[step.key] = replace(kept.report, reused=True)

    def _kept(self, step: Step) -> Iterator[Kept]:
        """What each folder holds of a step."""
        return (look(_place(root, step), step) for root in (self.folder, *self._others))

    def _find(self, step: Step) -> Kept | None:
        """Where a step is kept whole; where it is damaged, that is told."""
        for kept in self._kept(step):
            if (found := self._flaw(kept)) is not None:
                self._tell(step, kept.place, found)
            elif kept.report is not None:
                return kept
        return None

    def _flaw(self, kept: Kept) -> str | None:
        """What is damaged of a step in its place; its files are looked at once."""
        if kept.report is None:
            return kept.flaw
        if kept.place not in self._flaws:
            self._flaws[kept.place] = flaw_of(kept.place)
        return self._flaws[kept.place]

    def _tell(self, step: Step, place: Path, found: str) -> None:
        if place not in self._told:
            self._told.add(place)
            log.warning("%s is damaged and not used: %s in %s.", step.name, found, place)

    def _made(self, step: Step) -> Path:
        for each in step.inputs:
            self.get(each)
        place = _place(self.folder, step)
        place.parent.mkdir(parents=True, exist_ok=True)
        workers = Workers(cpu=self._context.device == "cpu")
        with _lock(place, step) if workers.is_main else nullcontext():
            workers.wait()  # the lock is taken, so that what stands there does not change under anybody
            there = look(place, step)  # another process may have made it meanwhile
            if there.report is None or flaw_of(place) is not None:
                self._make(step, place, workers)
        self._flaws[place] = None
        return place

    def _make(self, step: Step, place: Path, workers: Workers) -> None:
        partial = place.with_name(f"{place.name}.partial")
        if workers.is_main:
            _clear_flawed(partial, step)
        partial.mkdir(exist_ok=True)
        workers.wait()
        is_made = look(partial, step).report is not None  # killed on its last step, into its place
        workers.wait()
        if is_made:
            if workers.is_main:
                self._put(step, partial, place)
        elif workers.is_main:
            with Meter(partial / ACCOUNT) as meter:
                step.make(partial)
                workers.wait()
            self._finish(step, partial, place, meter.spent)
        else:
            if step.together:
                step.make(partial)
            workers.wait()
        workers.wait()

    def _finish(self, step: Step, partial: Path, place: Path, spent: Spent) -> None:
        """Write the report of a step that is made, and put it in its place."""
        write_json(partial / REPORT, self._report(step, spent).as_json())
        self._put(step, partial, place)

    def _put(self, step: Step, partial: Path, place: Path) -> None:
        for leftover in (partial / ACCOUNT, *partial.rglob(_LEFT_BEHIND), *partial.rglob(".*.partial")):
            leftover.unlink(missing_ok=True)
        if not (partial / SEAL).exists():
            seal(partial)
        shutil.rmtree(place, ignore_errors=True)  # what stands there is no whole step
        partial.rename(place)
        report = look(place, step).report
        assert report is not None
        self.reports[step.key] = report

    def _report(self, step: Step, spent: Spent) -> StepReport:
        commit, dirty = checkout()
        date = datetime.now(UTC).isoformat(timespec="seconds")
        device = "cpu" if step.on_cpu else self._context.device
        return StepReport(step.name, step.kind, step.key, spent, device, __version__, commit, dirty, date)


def holds_steps(folder: Path) -> bool:
    """Whether a folder is a store, and not one that anything else is kept in."""
    return any(folder.glob(f"*/*/{REPORT}"))


def _place(root: Path, step: Step) -> Path:
    """Where a step is kept; its kind, which a plug-in may have named, becomes part of the path."""
    return root / identifier(step.kind, "kind of step") / step.key[:32]


def _clear_flawed(partial: Path, step: Step) -> None:
    """Throw away what was finished, not put in its place, and damaged since."""
    if (found := flaw_of(partial)) is not None:
        log.warning("%s is damaged and made again: %s in %s.", step.name, found, partial)
        shutil.rmtree(partial)


def _lock(place: Path, step: Step) -> FileLock:
    """The lock of a step, taken; whoever has to wait for another process is told."""
    lock = FileLock(place.with_name(f"{place.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        log.warning("Another process is making %s in %s; waiting for it.", step.name, place.parent)
        lock.acquire()
    return lock
