"""What steps take of machines, and whether a cluster has it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from cear.cluster.needs import Needs, lacking
from cear.steps import Step

STEP = Step("a step", "kind", {}, lambda _: None, memory=3)


def needs(step: Step, device: str = "cpu") -> Needs:
    return Needs.of(step, threads=2, device=device, data=7, data_parallel=3)


def test_a_step_takes_threads_memory_for_itself_and_the_data_and_a_gpu_unless_it_is_made_on_the_cpu() -> None:
    assert needs(STEP).options == {"num_cpus": 2, "num_gpus": 0, "memory": 10}
    assert needs(STEP, "cuda").options == {"num_cpus": 2, "num_gpus": 1, "memory": 10}
    assert needs(replace(STEP, on_cpu=True), "cuda").gpus == 0


def test_processes_share_what_gains_from_it() -> None:
    assert needs(STEP).processes == 1
    assert needs(replace(STEP, shared=True)).processes == 3


@pytest.mark.parametrize(
    ("machines", "missing"),
    [
        ([(2, 10)], None),
        ([(1, 10), (1, 10)], "2 of CPU, and the largest of 2 machines has 1"),
        ([(2, 5)], "10 of memory, and the largest of 1 machines has 5"),
        ([], "2 of CPU, and the largest of 0 machines has 0"),
    ],
)
def test_what_no_machine_has_is_lacking(machines: list[tuple[int, int]], missing: str | None) -> None:
    assert lacking(ray_of(machines), needs(STEP)) == missing


def test_processes_that_work_together_need_room_all_at_once() -> None:
    together = needs(replace(STEP, shared=True))
    assert lacking(ray_of([(4, 100), (2, 100)]), together) is None
    assert lacking(ray_of([(5, 100)]), together) == "3 times 2 of CPU, and the cluster has room for 2"


def ray_of(machines: list[tuple[int, int]]) -> Any:
    """A cluster of machines with so many processors and so much memory, and one that is lost."""
    alive = [{"Alive": True, "Resources": {"CPU": cpus, "memory": memory}} for cpus, memory in machines]
    lost = {"Alive": False, "Resources": {"CPU": 64, "memory": 2**40}}
    return SimpleNamespace(nodes=lambda: [*alive, lost])
