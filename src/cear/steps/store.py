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

from cear import __version__
from cear.core.context import Context
from cear.core.files import write_json
from cear.core.machine import checkout
from cear.core.seals import SEAL, flaw_of, seal
from cear.steps.address import Address, located
from cear.steps.executor import Executor
from cear.steps.folder import Folder, KeepsSteps
from cear.steps.kept import REPORT, Kept, look
from cear.steps.meter import Meter, Spent
from cear.steps.mirror import Mirror
from cear.steps.step import Step, StepReport
from cear.training import Workers

log = logging.getLogger("cear.steps")

ACCOUNT = "spent.json"
_LEFT_BEHIND = "checkpoint.safetensors"  # what a training goes on from is of no use when it is done


class Store:
    """Finds finished steps in several places, and makes the others in the first."""

    def __init__(
        self,
        home: Path | str | Address,
        *,
        others: Sequence[Path | str | Address] = (),
        context: Context,
        executor: Executor | None = None,
    ) -> None:
        """A place is a folder or an address; `others` are only read. An executor has missing steps made elsewhere."""
        self._mine = _opened(home, writes=True)
        self._places = (self._mine, *(_opened(each, writes=False) for each in others))
        self.home, self.folder = self._mine.home, self._mine.folder
        self._context, self._executor = context, executor
        self.reports: dict[str, StepReport] = {}
        """Of every step that was asked for, by key."""
        self._told: set[str] = set()
        self._made_elsewhere: set[str] = set()
        """The keys of what an executor has had made for this run."""

    def get(self, step: Step) -> Path:
        """The folder of a finished step; made now, inputs first, unless it is kept. A damaged one is made again."""
        found = self._find(step)
        if found is None and self._executor is not None:
            self._executor.make([step], self)
            found = self._find(step)
        if found is None:
            return self.made_here(step)
        if step.key not in self.reports:
            self._note(step, found)
            log.debug("%s is reused from %s.", step.name, found.place)
        return found.place

    def get_all(self, steps: Sequence[Step]) -> None:
        """See to it that all of these steps are finished: an executor makes at the same time what it can."""
        missing = [step for step in steps if not self.is_whole(step)]
        if missing and self._executor is not None:
            self._executor.make(missing, self)
        for step in steps:
            self.get(step)

    def has(self, step: Step) -> bool:
        """Whether a step is finished, as its report says; `flaw` looks at its files, too."""
        return any(kept.report is not None for kept in self._kept(step))

    def is_whole(self, step: Step) -> bool:
        """Whether a step is finished and nothing of it is damaged, as far as that is known without fetching it."""
        return self._find(step, fetch=False) is not None

    def was_made(self, step: Step) -> bool:
        """Whether a step that an executor has had made is there, and whole; its files are looked at anew."""
        self._mine.doubt(step)
        self._made_elsewhere.add(step.key)
        return self.is_whole(step)

    def flaw(self, step: Step) -> str | None:
        """What is damaged of a step, in words; None where there is a whole one, or none at all."""
        found = None
        for kept in (place.whole(step) for place in self._places):
            if kept.report is not None:
                return None
            found = found or kept.flaw
        return found

    def report(self, step: Step) -> StepReport:
        """What a step cost; it must be finished."""
        if step.key not in self.reports:
            kept = next((kept for kept in self._kept(step) if kept.report is not None), None)
            self.get(step) if kept is None else self._note(step, kept)
        return self.reports[step.key]

    def _note(self, step: Step, kept: Kept) -> None:
        assert kept.report is not None
        self.reports[step.key] = replace(kept.report, reused=step.key not in self._made_elsewhere)

    def _kept(self, step: Step) -> Iterator[Kept]:
        """What each place holds of a step."""
        return (place.look(step) for place in self._places)

    def _find(self, step: Step, *, fetch: bool = True) -> Kept | None:
        """Where a step is kept whole; where it is damaged, that is told."""
        for place in self._places:
            kept = place.whole(step) if fetch else place.apparently(step)
            if kept.flaw is not None:
                self._tell(step, kept.address or str(kept.place), kept.flaw)
            elif kept.report is not None:
                return kept
        return None

    def _tell(self, step: Step, where: str, found: str) -> None:
        if where not in self._told:
            self._told.add(where)
            log.warning("%s is damaged and not used: %s in %s.", step.name, found, where)

    def made_here(self, step: Step) -> Path:
        """The folder of a step, made by this process unless another has done so meanwhile; inputs and pieces first."""
        for each in step.inputs:
            self.get(each)
        place = self._mine.place(step)
        workers = Workers(cpu=self._context.device == "cpu")
        with self._mine.making(step) if workers.is_main else nullcontext():
            workers.wait()  # the lock is taken, so that what stands there does not change under anybody
            there = look(place, step)  # another process may have made it meanwhile
            if there.report is None or flaw_of(place) is not None:
                self._make(step, place, workers)
        self._mine.trust(step)
        return place

    def _make(self, step: Step, place: Path, workers: Workers) -> None:
        partial = place.with_name(f"{place.name}.partial")
        if workers.is_main:
            _clear_flawed(partial, step)
        partial.mkdir(exist_ok=True)
        workers.wait()
        is_made = look(partial, step).report is not None  # killed on its last step, into its place
        workers.wait()
        pieces = Spent() if is_made else self._spent_on_pieces(step)
        if is_made:
            if workers.is_main:
                self._put(step, partial, place)
        elif workers.is_main:
            with Meter(partial / ACCOUNT) as meter:
                step.make(partial)
                workers.wait()
            self._finish(step, partial, place, meter.spent.plus(pieces))
        else:
            if step.together:
                step.make(partial)
            workers.wait()
        workers.wait()

    def _spent_on_pieces(self, step: Step) -> Spent:
        """What the pieces of a step cost, each of them made first."""
        pieces, spent = step.cut(), Spent()
        if not pieces:
            return spent
        with self._context.progress(step.name, len(pieces)) as bar:
            for piece in pieces:
                self.get(piece)
                spent = spent.plus(self.report(piece).spent)
                bar.advance()
        return spent

    def _finish(self, step: Step, partial: Path, place: Path, spent: Spent) -> None:
        """Write the report of a step that is made, and put it in its place."""
        write_json(partial / REPORT, self._report(step, spent).as_json())
        self._put(step, partial, place)

    def _put(self, step: Step, partial: Path, place: Path) -> None:
        for leftover in (partial / ACCOUNT, *partial.rglob(_LEFT_BEHIND), *partial.rglob(".*.partial")):
            leftover.unlink(missing_ok=True)
        if not (partial / SEAL).exists():
            seal(partial)
        for piece in step.cut():
            self._mine.forget(piece)
        shutil.rmtree(place, ignore_errors=True)  # what stands there is no whole step
        partial.rename(place)
        report = look(place, step).report
        assert report is not None
        self.reports[step.key] = report
        self._mine.publish(step)

    def _report(self, step: Step, spent: Spent) -> StepReport:
        commit, dirty = checkout()
        date = datetime.now(UTC).isoformat(timespec="seconds")
        device = "cpu" if step.on_cpu else self._context.device
        return StepReport(step.name, step.kind, step.key, spent, device, __version__, commit, dirty, date)


def _opened(place: Path | str | Address, *, writes: bool) -> KeepsSteps:
    """A place that steps are kept in."""
    where = located(place)
    return Folder(where) if isinstance(where, Path) else Mirror(where, writes=writes)


def _clear_flawed(partial: Path, step: Step) -> None:
    """Throw away what was finished, not put in its place, and damaged since."""
    if (found := flaw_of(partial)) is not None:
        log.warning("%s is damaged and made again: %s in %s.", step.name, found, partial)
        shutil.rmtree(partial)
