"""Completions in the background: one at a time, watched while it works, ended cleanly."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from threading import Event, Lock, Thread
from typing import Literal
from uuid import uuid4

from cear.core.errors import CearError, UnknownName
from cear.core.progress import Bar, Progress, silent
from cear.pipeline import Completion, Run

log = logging.getLogger("cear.serving")

State = Literal["running", "done", "failed", "cancelled"]
REMEMBERED = 20  # jobs whose end can be asked for
PATIENCE = 5.0  # seconds that a job has to end when the service does; what it has kept is not made again
WHOLE = "The completion failed, and the log of the service says why."

_listener: ContextVar[Progress] = ContextVar("listener", default=silent)


def told(label: str, steps: int, /) -> AbstractContextManager[Bar]:
    """A bar of whoever listens to this thread; a run that is opened with it tells each job of its own steps."""
    return _listener.get()(label, steps)


class OneAtATime(CearError):
    """A job is running already."""


class Cancelled(CearError):
    """Somebody has ended the job."""


@dataclass(frozen=True)
class Wanted:
    """Which facts to look for; as in `Run.complete`."""

    relations: tuple[str, ...] | None = None
    budget: int | None = None
    min_probability: float = 0.05


@dataclass(frozen=True)
class Job:
    """A completion, and how far it is."""

    id: str
    state: State = "running"
    doing: str = "Starting"
    done: int = 0
    steps: int = 0
    """Of how many; 0 while that is not known."""
    proposals: int | None = None
    error: str | None = None


class Jobs:
    """The completions of a run. What each finds is handed to `keep`."""

    def __init__(self, run: Run, keep: Callable[[Completion], None]) -> None:
        self._run, self._keep = run, keep
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._turn, self._stop = Lock(), Event()
        self._thread: Thread | None = None

    def start(self, wanted: Wanted) -> Job:
        """Begin a completion; `OneAtATime` while another is running."""
        for relation in wanted.relations or ():
            self._run.kb.relations.find(relation)
        with self._turn:
            if self._thread is not None and self._thread.is_alive():
                raise OneAtATime("A completion is running already. Wait for it, or end it: DELETE /complete/JOB.")
            job = Job(uuid4().hex)
            self._jobs[job.id] = job
            while len(self._jobs) > REMEMBERED:
                self._jobs.popitem(last=False)
            self._stop = Event()
            # Not waited for when the process ends: steps go on from where they were.
            args, name = (job.id, wanted, self._stop), f"completion {job.id}"
            self._thread = Thread(target=self._work, args=args, name=name, daemon=True)
            self._thread.start()
        return job

    def get(self, id_: str) -> Job:
        """How far a job is; `UnknownName` for one that nobody remembers."""
        if (job := self._jobs.get(id_)) is None:
            raise UnknownName(f"There is no job {id_!r}. The last {REMEMBERED} are remembered.")
        return job

    def cancel(self, id_: str) -> Job:
        """Tell a job to end; it does so between two of its steps."""
        job = self.get(id_)
        if job.state == "running":
            self._stop.set()
        return job

    def close(self, patience: float = PATIENCE) -> None:
        """End the job that is running."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(patience)

    def _work(self, id_: str, wanted: Wanted, stop: Event) -> None:
        listening: Progress = _Listener(self, id_, stop)
        _listener.set(listening)
        try:
            made = self._run.complete(
                relations=wanted.relations,
                budget=wanted.budget,
                min_probability=wanted.min_probability,
                progress=listening,
            )
            self._keep(made)
            self._tell(id_, state="done", doing="Done", proposals=len(made.table))
        except Cancelled as end:
            self._tell(id_, state="cancelled", doing="Cancelled", error=str(end))
        except Exception:  # of any kind: a job that failed must not look as if it were running
            log.exception("A completion failed.")
            self._tell(id_, state="failed", doing="Failed", error=WHOLE)

    def _tell(self, id_: str, **changes: object) -> None:
        with self._turn:
            self._jobs[id_] = replace(self._jobs[id_], **changes)  # type: ignore[arg-type]


class _Listener:
    """The progress of a job; ends its work when it is cancelled."""

    def __init__(self, jobs: Jobs, id_: str, stop: Event) -> None:
        self._jobs, self._id, self._stop = jobs, id_, stop

    @contextmanager
    def __call__(self, label: str, steps: int, /) -> Iterator[Bar]:
        self.tell(doing=label, steps=steps, done=0)
        yield _Bar(self)

    def tell(self, **changes: object) -> None:
        """Say how far it is, or end it here."""
        if self._stop.is_set():
            raise Cancelled("The completion was ended. What it has kept is not asked again.")
        self._jobs._tell(self._id, **changes)


class _Bar:
    def __init__(self, listener: _Listener) -> None:
        self._listener, self._done = listener, 0

    def advance(self, steps: int = 1) -> None:
        self._done += steps
        self._listener.tell(done=self._done)

    def describe(self, text: str) -> None:
        self._listener.tell(doing=text)
