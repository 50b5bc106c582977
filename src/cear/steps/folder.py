"""A folder of steps: what there is of each, looked at once, and a lock for whoever makes one."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from cear.core.seals import flaw_of
from cear.steps.address import Place
from cear.steps.kept import REPORT, Kept, look, name_of
from cear.steps.step import Step

log = logging.getLogger("cear.steps")


class KeepsSteps(Protocol):
    """A place that steps are kept in."""

    @property
    def home(self) -> Place:
        """Where it is, as a user names it."""

    @property
    def folder(self) -> Path:
        """Where its steps are on this machine."""

    def place(self, step: Step) -> Path:
        """Where a step is, or will be, on this machine."""

    def look(self, step: Step) -> Kept:
        """What there is of a step, as its report says."""

    def whole(self, step: Step) -> Kept:
        """A step on this machine with all its files looked at: a damaged one has a flaw and no report."""

    def apparently(self, step: Step) -> Kept:
        """The same, as far as it is known without fetching anything."""

    def making(self, step: Step) -> AbstractContextManager[None]:
        """A block in which nobody else makes a step; it may be there, whole, by the time that it begins."""

    def trust(self, step: Step) -> None:
        """A step in its place on this machine is whole: this process knows."""

    def doubt(self, step: Step) -> None:
        """Another process may have changed a step: its files are to be looked at anew."""

    def publish(self, step: Step) -> None:
        """Hand a step that is in its place on this machine to all who share it."""

    def forget(self, step: Step) -> None:
        """A step is of no more use."""


class Folder:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self.home = self.folder = folder
        self._flaws: dict[Path, str | None] = {}
        """Of every step whose files were looked at: that is done once."""

    def place(self, step: Step) -> Path:
        """Where a step is kept."""
        return self.folder / name_of(step)

    def look(self, step: Step) -> Kept:
        """What there is of a step, as its report says."""
        return look(self.place(step), step)

    def whole(self, step: Step) -> Kept:
        """A step with all its files looked at, once: a damaged one has a flaw and no report."""
        kept = self.look(step)
        if kept.report is None:
            return kept
        if kept.place not in self._flaws:
            self._flaws[kept.place] = flaw_of(kept.place)
        flaw = self._flaws[kept.place]
        return kept if flaw is None else replace(kept, report=None, flaw=flaw)

    apparently = whole

    @contextmanager
    def making(self, step: Step) -> Iterator[None]:
        """The lock of a step; whoever has to wait for another process is told."""
        place = self.place(step)
        place.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(place.with_name(f"{place.name}.lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            log.warning("Another process is making %s in %s; waiting for it.", step.name, place.parent)
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def trust(self, step: Step) -> None:
        """A step in its place is whole: this process knows."""
        self._flaws[self.place(step)] = None

    def doubt(self, step: Step) -> None:
        """Another process may have changed a step: its files are looked at anew."""
        self._flaws.pop(self.place(step), None)

    def publish(self, step: Step) -> None:
        """A step that is in its place is where others find it."""

    def forget(self, step: Step) -> None:
        """A step is of no more use."""
        shutil.rmtree(self.place(step), ignore_errors=True)


def holds_steps(folder: Path) -> bool:
    """Whether a folder is a store, and not one that anything else is kept in."""
    return any(folder.glob(f"*/*/{REPORT}"))
