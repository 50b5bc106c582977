"""Completions in the background: one at a time, watched, ended, and what they find is kept."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cear.core.errors import DataError, UnknownName
from cear.core.progress import silent
from cear.data import KnowledgeBase
from cear.pipeline import Run
from cear.serving.app import create_app
from cear.serving.jobs import Jobs, OneAtATime, Wanted, told

CHANGE = {"X-Cear": "1"}


class Completing:
    """Stands in for `Run.complete`: asks four questions, each when it is let go, and proposes three facts."""

    def __init__(self, error: Exception | None = None) -> None:
        self.go, self.error = threading.Semaphore(0), error
        self.wanted: dict[str, Any] = {}

    def __call__(self, *, progress: Any = silent, **wanted: Any) -> Any:
        self.wanted = wanted
        with told("Asking", 4) as bar:  # as a step does that was opened with this progress
            for _ in range(4):
                assert self.go.acquire(timeout=30)
                bar.advance()
                if self.error is not None:
                    raise self.error
        with progress("Explaining", 1) as bar:
            bar.advance()
        return SimpleNamespace(table=[1, 2, 3])


@pytest.fixture
def completing() -> Completing:
    return Completing()


def jobs_of(towns: KnowledgeBase, complete: Any, keep: Callable[[Any], None] | None = None) -> Jobs:
    run: Any = SimpleNamespace(kb=towns, complete=complete)
    return Jobs(run, keep or [].append)


def until(there: Callable[[], bool]) -> None:
    for _ in range(3000):
        if there():
            return
        time.sleep(0.01)
    raise AssertionError("It never came true.")


class TestJobs:
    def test_a_job_tells_how_far_it_is_and_keeps_what_it_finds(self, towns: Any, completing: Completing) -> None:
        kept: list[Any] = []
        jobs = jobs_of(towns, completing, kept.append)
        job = jobs.start(Wanted(("lies_in",), 10, 0.5))
        assert job.state == "running"
        completing.go.release(2)
        until(lambda: jobs.get(job.id).done == 2)
        now = jobs.get(job.id)
        assert (now.doing, now.steps, now.proposals) == ("Asking", 4, None)
        completing.go.release(2)
        until(lambda: jobs.get(job.id).state == "done")
        assert jobs.get(job.id).proposals == 3
        assert len(kept) == 1
        assert completing.wanted == {"relations": ("lies_in",), "budget": 10, "min_probability": 0.5}

    def test_one_at_a_time(self, towns: Any, completing: Completing) -> None:
        jobs = jobs_of(towns, completing)
        first = jobs.start(Wanted())
        with pytest.raises(OneAtATime, match="running already"):
            jobs.start(Wanted())
        completing.go.release(8)
        until(lambda: jobs.get(first.id).state == "done")
        until(lambda: not any(thread.name == f"completion {first.id}" for thread in threading.enumerate()))
        assert jobs.start(Wanted()).id != first.id

    def test_it_ends_between_two_questions_and_keeps_nothing(self, towns: Any, completing: Completing) -> None:
        kept: list[Any] = []
        jobs = jobs_of(towns, completing, kept.append)
        job = jobs.start(Wanted())
        jobs.cancel(job.id)
        completing.go.release(4)
        until(lambda: jobs.get(job.id).state == "cancelled")
        assert kept == []

    def test_it_ends_when_the_service_does(self, towns: Any, completing: Completing) -> None:
        jobs = jobs_of(towns, completing)
        job = jobs.start(Wanted())
        threading.Timer(0.05, completing.go.release, [4]).start()
        jobs.close()
        assert jobs.get(job.id).state == "cancelled"

    def test_a_failure_is_told_without_a_path(self, towns: Any) -> None:
        failing = Completing(DataError("/home/ada/run is damaged."))
        jobs = jobs_of(towns, failing)
        job = jobs.start(Wanted())
        failing.go.release()
        until(lambda: jobs.get(job.id).state == "failed")
        assert "ada" not in str(jobs.get(job.id).error)

    def test_unknown_relations_and_jobs_are_refused_at_once(self, towns: Any, completing: Completing) -> None:
        jobs = jobs_of(towns, completing)
        with pytest.raises(UnknownName, match="lies in"):
            jobs.start(Wanted(("lie in",)))
        with pytest.raises(UnknownName, match="no job"):
            jobs.get("17")

    def test_whoever_is_no_job_is_told_nothing(self) -> None:
        with told("Asking", 3) as bar:
            bar.advance()


def test_over_http_a_job_is_watched_until_its_end(
    desk: Any, client_of: Any, completing: Completing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "complete", lambda _, **wanted: completing(**wanted))
    kept: list[Any] = []
    monkeypatch.setattr(type(desk.queue), "add", lambda _, made: kept.append(made))

    async def watch() -> Any:
        async with client_of(create_app(desk)) as client:
            begun = await client.post("/complete", json={"budget": 5}, headers=CHANGE)
            again = await client.post("/complete", json={}, headers=CHANGE)
            unknown = await client.post("/complete", json={"relations": ["nothing"]}, headers=CHANGE)
            completing.go.release(4)
            events = await client.get(f"{begun.headers['location']}/events")
            return begun, again, unknown, events, await client.get(begun.headers["location"])

    begun, again, unknown, events, last = asyncio.run(watch())
    assert (begun.status_code, begun.json()["state"]) == (202, "running")
    assert (again.status_code, unknown.status_code) == (409, 404)
    assert events.headers["content-type"].startswith("text/event-stream")
    named = [part.split("\n") for part in events.text.strip().split("\n\n")]
    assert named[-1][0] == "event: done"
    assert json.loads(named[-1][1].removeprefix("data: ")) == last.json()
    assert last.json()["proposals"] == 3
    assert len(kept) == 1


def test_over_http_a_job_is_cancelled(
    desk: Any, client_of: Any, completing: Completing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "complete", lambda _, **wanted: completing(**wanted))

    async def cancel() -> Any:
        async with client_of(create_app(desk)) as client:
            place = (await client.post("/complete", json={}, headers=CHANGE)).headers["location"]
            await client.delete(place, headers=CHANGE)
            completing.go.release(4)
            return await client.get(f"{place}/events")

    assert "event: cancelled" in asyncio.run(cancel()).text
