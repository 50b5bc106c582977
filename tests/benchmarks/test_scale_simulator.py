"""The clock of `benchmarks/scale_simulator.py`: small graphs, worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cear.core.files import write_json


@pytest.fixture
def simulator(script: Any) -> Any:
    return script("scale_simulator")


def test_one_worker_does_one_thing_after_the_other(simulator: Any) -> None:
    task = simulator.Task
    tasks = [task("a", 2), task("b", 3), task("c", 1, ("a", "b"))]
    assert simulator.makespan(tasks, 1) == 6
    assert simulator.makespan(tasks, 2) == 4
    assert simulator.critical_path(tasks) == 4


def test_a_free_worker_takes_the_first_task_that_waits_for_nothing(simulator: Any) -> None:
    task = simulator.Task
    tasks = [task("long", 5), task("after", 1, ("short",)), task("short", 2), task("other", 2)]
    assert simulator.makespan(tasks, 2) == 5, "beside the long one: short, then what waited for it, then the other"


def test_workers_that_share_a_machine_slow_each_other_down(simulator: Any) -> None:
    tasks = [simulator.Task("a", 10), simulator.Task("b", 10)]
    assert simulator.makespan(tasks, 2, slowdown=1.5) == 15
    assert simulator.makespan(tasks, 1, slowdown=1.5) == 20
    assert simulator.makespan(tasks, 2, overhead=1) == 11


def test_a_task_that_waits_for_nobody_known_is_refused(simulator: Any) -> None:
    with pytest.raises(ValueError, match="wait for what is not there"):
        simulator.makespan([simulator.Task("a", 1, ("b",))], 1)


def test_more_machines_are_never_slower_and_never_faster_than_the_longest_chain(simulator: Any) -> None:
    for work in (simulator.OLPBENCH, simulator.WIKIDATA):
        found = simulator.simulated(work, simulator.measured())
        hours = [found["hours"][str(n)] for n in simulator.MACHINES]
        assert hours == sorted(hours, reverse=True)
        assert hours[-1] >= found["hours_of_the_longest_chain"]
        assert hours[0] == pytest.approx(sum(found["hours_of_steps_on_one_machine"].values()))


def test_the_folds_of_ray_are_compared_where_they_were_measured(simulator: Any, tmp_path: Path) -> None:
    path = tmp_path / "cluster_speed.json"
    assert simulator.on_ray(1.0, path) is None
    write_json(path, {"folds": {"seconds": {"Ray, one worker": [40.0, 41, 39], "Ray, two workers": [22.0, 25, 20]}}})
    found = simulator.on_ray(1.1, path)
    assert found["measured"] == 22
    assert found["simulated"] == pytest.approx(22)


def test_the_curves_are_drawn(simulator: Any, tmp_path: Path) -> None:
    found = {"OLPBENCH": simulator.simulated(simulator.OLPBENCH, simulator.measured())}
    simulator.draw(found, tmp_path / "scale.svg")
    assert "OLPBENCH" in (tmp_path / "scale.svg").read_text()
