"""Where steps are kept: a folder for each key, there whole or not at all, locked while it is made.

store/retriever/3f2a…/            a finished step: what it wrote, and step.json, which says what it is and cost
store/retriever/3f2a….partial/    one that is being made, or was interrupted: it goes on from there
store/retriever/3f2a….lock        held by whoever makes it
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from cear import __version__
from cear.core.context import Context
from cear.core.files import read_json, write_json
from cear.core.machine import checkout
from cear.core.names import identifier
from cear.steps.meter import Meter, Spent
from cear.steps.step import SCHEMA, Step, StepReport
from cear.training import Workers

log = logging.getLogger("cear.steps")

REPORT, ACCOUNT = "step.json", "spent.json"
_LEFT_BEHIND = "checkpoint.safetensors"  # what a training goes on from is of no use when it is done


class Store:
    """Finds finished steps in several folders, and makes the others in the first."""

    def __init__(self, folder: Path, *, others: Sequence[Path] = (), context: Context) -> None:
        """`others` are only read."""
        self.folder, self._others = folder, tuple(others)
        self._context = context
        self.reports: dict[str, StepReport] = {}
        """Of every step that was asked for, by key."""

    def get(self, step: Step) -> Path:
        """The folder of a finished step; made now, inputs first, unless it is kept."""
        found = self._find(step)
        if found is None:
            found = self._made(step)
        elif step.key not in self.reports:
            self.reports[step.key] = replace(_read_report(found), reused=True)
            log.debug("%s is reused from %s.", step.name, found)
        return found

    def has(self, step: Step) -> bool:
        """Whether a step is finished."""
        return self._find(step) is not None

    def report(self, step: Step) -> StepReport:
        """What a step cost; it must be finished."""
        if step.key not in self.reports:
            self.get(step)
        return self.reports[step.key]

    def _find(self, step: Step) -> Path | None:
        places = (_place(root, step) for root in (self.folder, *self._others))
        return next((place for place in places if _is_whole(place, step)), None)

    def _made(self, step: Step) -> Path:
        for each in step.inputs:
            self.get(each)
        place = _place(self.folder, step)
        place.parent.mkdir(parents=True, exist_ok=True)
        workers = Workers(cpu=self._context.device == "cpu")
        with _lock(place, step) if workers.is_main else nullcontext():
            workers.wait()  # the lock is taken, so that what stands there does not change under anybody
            if not _is_whole(place, step):
                self._make(step, place, workers)
        return place

    def _make(self, step: Step, place: Path, workers: Workers) -> None:
        partial = place.with_name(f"{place.name}.partial")
        partial.mkdir(exist_ok=True)
        workers.wait()
        if (partial / REPORT).exists():  # killed on its last step, into its place
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
        shutil.rmtree(place, ignore_errors=True)  # what stands there is no whole step
        partial.rename(place)
        self.reports[step.key] = _read_report(place)

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


def _is_whole(place: Path, step: Step) -> bool:
    """Whether a folder holds this finished step, of a schema that we read."""
    path = place / REPORT
    if not path.exists():
        return False
    there = read_json(path)
    return bool(there["key"] == step.key and there["schema"] == SCHEMA)


def _read_report(place: Path) -> StepReport:
    return StepReport.from_json(read_json(place / REPORT), place / REPORT)


def _lock(place: Path, step: Step) -> FileLock:
    """The lock of a step, taken; whoever has to wait for another process is told."""
    lock = FileLock(place.with_name(f"{place.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        log.warning("Another process is making %s in %s; waiting for it.", step.name, place.parent)
        lock.acquire()
    return lock
