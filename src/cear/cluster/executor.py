"""Steps made by Ray: whatever can be made now is sent to workers, and what is lost with one is sent again."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cear.cluster.connecting import Cluster
from cear.cluster.needs import Needs, lacking
from cear.cluster.training import WorkerLost, make_together
from cear.cluster.working import make_step
from cear.core.context import Context
from cear.core.errors import CearError, ClusterError, OutOfTime
from cear.core.progress import Bar
from cear.pipeline import Order, Recipe
from cear.steps import Agenda, Job, Step, Store

log = logging.getLogger("cear.cluster")

TRIES = 10  # of a step whose workers are lost
BEAT = 0.5  # seconds between two looks at the cluster and the clock
QUIET = 120.0  # seconds without a finished step after which it is said what is waited for
PATIENCE = 60.0  # seconds that a machine which is large enough may take to come, or to come back


@dataclass(frozen=True)
class Sent:
    """A step that a worker makes."""

    job: Job
    since: float
    tries: int


class RayExecutor:
    """Makes the steps of a recipe on a cluster, as many at a time as it has processors for."""

    def __init__(self, cluster: Cluster, data_parallel: int, recipe: Recipe, context: Context) -> None:
        self._cluster, self._data_parallel, self._recipe, self._context = cluster, data_parallel, recipe, context
        self._text = json.dumps(recipe.as_json())

    def make(self, steps: Sequence[Step], store: Store) -> None:
        """See to it that the store has these steps; an error of a step ends all, a lost worker does not."""
        agenda, ray = Agenda(steps, store.is_whole), self._cluster.connected()
        with self._context.progress("On the cluster", len(agenda)) as bar:
            _Making(ray, self, agenda, store, self._context, bar).run()

    def needs(self, step: Step) -> Needs:
        """What a step takes of a machine."""
        recipe, processes = self._recipe, self._data_parallel
        return Needs.of(step, threads=recipe.threads, device=recipe.device, data=recipe.memory, data_parallel=processes)

    def send(self, ray: Any, job: Job) -> Any:
        """Send a step to whichever worker has room for it."""
        needs, order = self.needs(job.step), json.dumps(Order.of(job).as_json())
        named = {"max_retries": 0, "name": job.step.name}
        if needs.processes == 1:
            return ray.remote(make_step).options(**needs.options, **named).remote(self._text, order)
        return ray.remote(make_together).options(num_cpus=0, **named).remote(self._text, order, needs)


class _Making:
    """One call of an executor: what is to be made, and what is being made."""

    def __init__(
        self, ray: Any, executor: RayExecutor, agenda: Agenda, store: Store, context: Context, bar: Bar
    ) -> None:
        self._ray, self._executor, self._agenda, self._store = ray, executor, agenda, store
        self._context, self._bar = context, bar
        self._sent: dict[Any, Sent] = {}
        self._finished = time.monotonic()
        self._lacking_since: float | None = None
        self._over: OutOfTime | None = None

    def run(self) -> None:
        """Until nothing is left to make."""
        try:
            while len(self._agenda):
                self._send_ready()
                for done in self._ended():
                    self._take(done)
                self._look_at_the_clock()
        finally:
            for each in self._sent:  # an error or an interrupt: what they have saved is gone on from
                self._ray.cancel(each, force=True)

    def _ended(self) -> list[Any]:
        """What has ended, waited for no longer than a beat."""
        if not self._sent:
            time.sleep(BEAT)
            return []
        ended: list[Any] = self._ray.wait([*self._sent], num_returns=1, timeout=BEAT)[0]
        return ended

    def _send_ready(self) -> None:
        if self._over is not None:
            return
        under_way = {sent.job.step.key for sent in self._sent.values()}
        free = self._ray.cluster_resources().get("CPU", 0) - sum(self._cpus(sent.job) for sent in self._sent.values())
        for job in self._agenda.ready():
            if job.step.key in under_way or (self._sent and free < self._cpus(job)):
                continue  # it is being made, or would only wait in Ray's queue, where nobody could tell
            if (missing := lacking(self._ray, self._executor.needs(job.step))) is not None:
                self._wait_for(job, missing)
                continue
            self._lacking_since = None
            self._send(job, 1)
            free -= self._cpus(job)
        if self._context.deadline.passed():  # something was sent all the same, so that a run ends some day
            self._over = OutOfTime("The time is over. What the workers have made is kept: the same command goes on.")

    def _cpus(self, job: Job) -> int:
        needs = self._executor.needs(job.step)
        return needs.cpus * needs.processes

    def _wait_for(self, job: Job, missing: str) -> None:
        """Give a machine that is lost, or not there yet, a minute; then say what is missing."""
        now = time.monotonic()
        self._lacking_since = now if self._lacking_since is None else self._lacking_since
        if now - self._lacking_since > PATIENCE:
            raise ClusterError(
                f"{job.step.name} needs {missing}. Set threads, device or --data-parallel lower, or add machines. All "
                "that is made is kept: the same command goes on."
            )

    def _send(self, job: Job, tries: int) -> None:
        self._sent[self._executor.send(self._ray, job)] = Sent(job, time.monotonic(), tries)

    def _take(self, done: Any) -> None:
        """Note a step that is made; send one again that was lost; raise what a step raised."""
        sent = self._sent.pop(done)
        try:
            self._ray.get(done)
        except self._ray.exceptions.RayTaskError as error:
            self._hear(_told(error, sent.job.step), sent)
        except self._ray.exceptions.RayError as error:
            self._send_again(sent, error)
        else:
            self._note(sent.job)

    def _hear(self, told: Exception, sent: Sent) -> None:
        """What a step raised ends all, unless it was lost, or the time is over: then the others may save, too."""
        match told:
            case WorkerLost():
                self._send_again(sent, told)
            case OutOfTime():
                self._over = told
            case _:
                raise told

    def _note(self, job: Job) -> None:
        if not self._store.was_made(job.step):
            raise ClusterError(
                f"A worker has made {job.step.name}, and it is not in {self._store.home}. All machines must see the "
                "same store: name a folder that they share (--store)."
            )
        self._agenda.finish(job)
        self._finished = time.monotonic()
        self._bar.describe(job.step.name)
        if job.whole is None:  # pieces were not counted: they are known once there is something to cut
            self._bar.advance()

    def _send_again(self, sent: Sent, error: Exception) -> None:
        name, reason = sent.job.step.name, _first_line(error)
        if sent.tries >= TRIES:
            raise ClusterError(
                f"{name} was lost with its worker {TRIES} times, at last: {reason}. If workers run out of memory, let "
                "fewer work at a time: set threads higher. The same command goes on from what is kept."
            ) from error
        log.warning("%s was lost with its worker, and is sent again: %s", name, reason)
        self._send(sent.job, sent.tries + 1)

    def _look_at_the_clock(self) -> None:
        now = time.monotonic()
        if self._over is not None and not self._sent and len(self._agenda):
            raise self._over
        if now - self._finished > QUIET:
            self._finished = now
            log.warning("%s", self._waiting())

    def _waiting(self) -> str:
        """What is waited for, and what there is for it."""
        now, free = time.monotonic(), self._ray.available_resources().get("CPU", 0)
        asked = [f"{sent.job.step.name} (for {now - sent.since:.0f} s)" for sent in self._sent.values()]
        total = self._ray.cluster_resources().get("CPU", 0)
        behind = len(self._agenda) - len(asked)
        return (
            f"Waiting for {', '.join(asked) or 'a machine'}; {behind} steps wait behind. "
            f"{free:.0f} of {total:.0f} processors of the cluster are free."
        )


def _told(error: Any, step: Step) -> Exception:
    """What a step raised, as its own error if it is one that a user can act on."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, CearError) else ClusterError(f"{step.name} failed on its worker:\n{error}")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
