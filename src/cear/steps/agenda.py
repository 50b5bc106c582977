"""The order of work: which of many steps can be made now, and which wait for others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cear.steps.step import Step


@dataclass(frozen=True, eq=False)
class Job:
    """A step that is to be made, and how whoever has the same plan finds it there."""

    step: Step
    target: Step
    """What was asked for: the step itself, or one that is made from it."""
    whole: Step | None = None
    """What it is a piece of, if it is one."""


class Agenda:
    """Steps that are to be made, with all that they are made from; several may be made at the same time."""

    def __init__(self, steps: Iterable[Step], is_there: Callable[[Step], bool]) -> None:
        """`is_there` says of a step whether it is finished already."""
        self._is_there = is_there
        self._open: dict[str, Job] = {}
        self._waits_for: dict[str, set[str]] = {}
        self._finished: set[str] = set()
        self._were_cut: set[str] = set()
        for step in steps:
            self._add(Job(step, step))

    def __len__(self) -> int:
        """How many steps are not finished."""
        return len(self._open)

    def ready(self) -> list[Job]:
        """What waits for nothing; a step whose inputs are there is cut into its pieces, if it has some."""
        for job in self._waiting_for_nothing():
            self._cut(job)
        return self._waiting_for_nothing()

    def finish(self, job: Job) -> None:
        """A step is made: nobody waits for it any more."""
        del self._open[job.step.key], self._waits_for[job.step.key]
        self._finished.add(job.step.key)
        for waiting in self._waits_for.values():
            waiting.discard(job.step.key)

    def _waiting_for_nothing(self) -> list[Job]:
        return [job for key, job in self._open.items() if not self._waits_for[key]]

    def _add(self, job: Job) -> bool:
        """Whether a step is open; it is added, behind what it is made from, unless it is finished."""
        key = job.step.key
        if key not in self._open and key not in self._finished and not self._is_there(job.step):
            self._waits_for[key] = {each.key for each in job.step.inputs if self._add(Job(each, job.target))}
            self._open[key] = job
        return key in self._open

    def _cut(self, job: Job) -> None:
        if job.step.key not in self._were_cut:
            self._were_cut.add(job.step.key)
            pieces = [Job(piece, job.target, job.step) for piece in job.step.cut()]
            self._waits_for[job.step.key] = {piece.step.key for piece in pieces if self._add(piece)}
