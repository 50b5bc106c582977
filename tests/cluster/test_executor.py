"""Steps that others make: at the same time where they can, again where they are lost, and never without end."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cear.cluster import executor
from cear.cluster.executor import RayExecutor
from cear.cluster.training import WorkerLost
from cear.core.context import HERE, Deadline
from cear.core.errors import ClusterError, DataError, OutOfTime
from cear.pipeline import Recipe
from cear.steps import Step, Store

RECIPE = Recipe("run", "store", "digest", "cpu", threads=1)


class RayError(Exception):
    """A worker or a machine is lost."""


class RayTaskError(RayError):
    """A step raised something."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Ray:
    """What the executor uses of Ray: a step is made when it is waited for, unless the test says what happens."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, steps: Sequence[Step], store: Store, *machines: dict[str, float]) -> None:
        self.machines = [*machines] or [{"CPU": 2, "memory": 2**33}]
        self.happens: dict[str, list[Exception | None]] = {}
        self.together: list[int] = []
        self.cancelled: list[str] = []
        self._steps = {each.key: each for step in steps for each in [*step.chain(), *step.cut()]}
        self._store, self._sent, self._numbers = store, dict[int, str](), itertools.count()

    def connected(self) -> Ray:
        return self

    def remote(self, function: Callable[..., None]) -> Ray:
        del function
        return self

    def options(self, **options: Any) -> SimpleNamespace:
        del options
        return SimpleNamespace(remote=self.send)

    def send(self, recipe: str, order: str) -> int:
        assert json.loads(recipe)["digest"] == "digest"
        told, number = json.loads(order), next(self._numbers)
        self._sent[number] = told["piece"] or told["key"]
        return number

    def wait(self, sent: list[int], num_returns: int, timeout: float) -> tuple[list[int], list[int]]:
        del timeout
        self.together.append(len(sent))
        return sent[:num_returns], sent[num_returns:]

    def get(self, number: int) -> None:
        step = self._steps[self._sent[number]]
        happens = self.happens.get(step.name, [])
        if happens and (error := happens.pop(0)) is not None:
            raise error
        Store(self._store.folder, context=HERE).made_here(step)

    def cancel(self, number: int, *, force: bool) -> None:
        assert force
        self.cancelled.append(self._steps[self._sent[number]].name)

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": machine} for machine in self.machines]

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": sum(machine["CPU"] for machine in self.machines)}

    available_resources = cluster_resources


def step(name: str, *inputs: Step) -> Step:
    return Step(name, "kind", {"name": name}, lambda folder: (folder / "name").write_text(name) and None, inputs)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path, context=HERE)


@pytest.fixture
def top() -> Step:
    """One that is made from three others."""
    return step("top", *(step(f"fold {i}") for i in range(3)))


def make(ray: Any, top: Step, store: Store, deadline: Deadline | None = None) -> None:
    context = HERE if deadline is None else replace(HERE, deadline=deadline)
    RayExecutor(ray, 1, RECIPE, context).make([top], store)


def test_as_many_are_sent_as_there_are_processors(top: Step, store: Store) -> None:
    ray = Ray([top], store)
    make(ray, top, store)
    assert store.is_whole(top)
    assert ray.together == [2, 2, 1, 1]
    assert not any(store.report(each).reused for each in top.chain())


def test_pieces_are_made_first_by_anybody(store: Store) -> None:
    whole = replace(step("whole"), pieces=lambda: [step("one"), step("two")])
    ray = Ray([whole], store)
    make(ray, whole, store)
    assert ray.together == [2, 1, 1]
    assert [path.name for path in store.folder.glob("kind/*/")] == [whole.key[:32]]


def test_progress_counts_steps_and_ends_at_all_of_them(store: Store) -> None:
    counted: list[int] = []

    class Counting:
        def advance(self, steps: int = 1) -> None:
            counted[-1] -= steps

        def describe(self, text: str) -> None:
            del text

    @contextmanager
    def progress(text: str, total: int) -> Iterator[Counting]:
        del text
        counted.append(total)
        yield Counting()

    whole = replace(step("whole", step("before")), pieces=lambda: [step("one"), step("two")])
    RayExecutor(Ray([whole], store), 1, RECIPE, replace(HERE, progress=progress)).make([whole], store)
    assert counted == [0], "pieces are not counted"


def test_what_is_lost_with_its_worker_is_sent_again(top: Step, store: Store, caplog: pytest.LogCaptureFixture) -> None:
    ray = Ray([top], store)
    ray.happens = {"fold 1": [RayError("worker crashed")] * 3, "top": [RayError("node died")]}
    make(ray, top, store)
    assert store.is_whole(top)
    assert caplog.text.count("fold 1 was lost with its worker, and is sent again: worker crashed") == 3


def test_so_is_a_training_that_one_of_its_processes_has_left(top: Step, store: Store) -> None:
    ray = Ray([top], store)
    ray.happens = {"top": [RayTaskError(WorkerLost("process 1 is gone"))]}
    make(ray, top, store)
    assert store.is_whole(top)


def test_what_is_lost_again_and_again_is_given_up(top: Step, store: Store) -> None:
    ray = Ray([top], store)
    ray.happens = {"fold 0": [RayError("out of memory")] * executor.TRIES}
    with pytest.raises(ClusterError, match=r"fold 0 was lost with its worker 10 times, at last: out of memory\."):
        make(ray, top, store)


def test_an_error_that_a_user_can_act_on_is_that_error(top: Step, store: Store) -> None:
    ray = Ray([top], store)
    ray.happens = {"fold 0": [RayTaskError(DataError("no such file"))]}
    with pytest.raises(DataError, match="no such file"):
        make(ray, top, store)
    assert ray.cancelled == ["fold 1"], "nobody works on for nothing"


def test_any_other_names_the_step(top: Step, store: Store) -> None:
    ray = Ray([top], store)
    ray.happens = {"fold 0": [RayTaskError(ZeroDivisionError("division by zero"))]}
    with pytest.raises(ClusterError, match="fold 0 failed on its worker:\ndivision by zero"):
        make(ray, top, store)


def test_a_store_that_workers_do_not_share_is_noticed(top: Step, store: Store, tmp_path: Path) -> None:
    elsewhere = Ray([top], Store(tmp_path / "elsewhere", context=HERE))
    with pytest.raises(ClusterError, match="A worker has made fold 0, and it is not in"):
        make(elsewhere, top, store)


@pytest.mark.parametrize(
    ("machine", "missing"),
    [
        ({"CPU": 0, "memory": 2**33}, "1 of CPU, and the largest of 1 machines has 0"),
        ({"CPU": 4, "memory": 2**20}, "1,073,741,824 of memory, and the largest of 1 machines has 1,048,576"),
    ],
)
def test_what_no_machine_can_make_is_not_waited_for_without_end(
    machine: dict[str, float], missing: str, top: Step, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "PATIENCE", 0.01)
    monkeypatch.setattr(executor, "BEAT", 0.02)
    with pytest.raises(ClusterError, match=f"fold 0 needs {missing}"):
        make(Ray([top], store, machine), top, store)


def test_a_machine_that_is_lost_may_come_back(top: Step, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray([top], store, {"CPU": 0, "memory": 2**33})
    monkeypatch.setattr(executor.time, "sleep", lambda _: ray.machines.append({"CPU": 1, "memory": 2**33}))
    make(ray, top, store)
    assert store.is_whole(top)


def test_it_is_said_what_is_waited_for(
    top: Step, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(executor, "QUIET", 0.0)
    with caplog.at_level(logging.WARNING):
        make(Ray([top], store), top, store)
    assert (
        "Waiting for fold 1 (for 0 s); 2 steps wait behind. 2 of 2 processors of the cluster are free." in caplog.text
    )


class TestWhenTheTimeIsOver:
    def test_nothing_more_is_sent_than_a_first_few(self, top: Step, store: Store) -> None:
        ray = Ray([top], store)
        with pytest.raises(OutOfTime, match="The time is over"):
            make(ray, top, store, Deadline.after(0))
        assert ray.together == [2, 1], "so that a run ends some day"
        assert ray.cancelled == []

    def test_the_others_may_save_what_they_have(self, top: Step, store: Store) -> None:
        ray = Ray([top], store)
        ray.happens = {"fold 0": [RayTaskError(OutOfTime("in epoch 3"))]}
        with pytest.raises(OutOfTime, match="in epoch 3"):
            make(ray, top, store)
        assert ray.cancelled == []
        assert store.is_whole(step("fold 1"))
        assert not store.is_whole(step("fold 2"))
