"""Ray as it is: what a worker raises, what the loss of one looks like, and two processes that train together.

That a whole run is the same to the last bit is what `tests/benchmarks/test_cluster_scripts.py` compares.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cear.cluster import ray_at
from cear.cluster.connecting import Cluster
from cear.cluster.executor import RayExecutor
from cear.config import RunConfig
from cear.core.context import HERE
from cear.core.errors import MismatchError
from cear.pipeline import Plan, Recipe, lay_out
from cear.pipeline.making import TRAINING

# Ray leaves pipes to its processes open, and warns of what will change in its next versions.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """Two workers on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        started = Cluster(cpus=2).connected()
        yield started
        started.shutdown()
        gc.collect()  # those pipes, here, where the warning of them is no error


CONFIG: dict[str, Any] = {
    "threads": 1,
    "stage1": {"rank": 8, "batch": 20, "epochs": 1},
    "candidates": {"k": 6, "crossfit": {"folds": 3}},
    "reranker": {"kind": "wide", "text": False, "width": 8, "heads": 2, "dropout": 0, "epochs": 3, "max_tokens": 100},
}


@pytest.fixture
def config(write_towns: Callable[..., Path], tmp_path: Path) -> RunConfig:
    """A small run of two stages."""
    return RunConfig.model_validate({**CONFIG, "data": str(write_towns(tmp_path / "towns"))})


def test_a_worker_with_other_code_makes_nothing(ray: Any, config: RunConfig, tmp_path: Path) -> None:
    store = tmp_path / "store"
    plan = lay_out(config, tmp_path / "run", store=store)
    recipe = Recipe.of_run(config, tmp_path / "run", store, plan.kb, plan.context)
    executor = RayExecutor(Cluster(), 1, replace(recipe, code="0123456789ab"), HERE)
    with pytest.raises(MismatchError, match=r"its code is .*, and 0123456789ab where the run was started"):
        executor.make([plan.reranker], plan.store)
    assert not store.exists()
    assert ray.is_initialized()


def test_a_killed_worker_is_a_loss_and_no_error_of_its_step(ray: Any) -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ray.exceptions.RayError) as lost:
        ray.get(ray.remote(die).options(max_retries=0).remote())
    assert not isinstance(lost.value, ray.exceptions.RayTaskError)


def losses(plan: Plan) -> list[float]:
    """The loss of every epoch of Stage 2."""
    phases = json.loads((plan.store.get(plan.reranker) / TRAINING).read_text())["phases"]
    return [row["loss"] for phase in phases.values() for row in phase["history"]]


@pytest.mark.usefixtures("ray")
def test_two_processes_train_stage_2_as_one_does(config: RunConfig, tmp_path: Path) -> None:
    alone = lay_out(config, tmp_path / "run", store=tmp_path / "alone")
    for step in alone.reranker.inputs:
        alone.store.get(step)
    shutil.copytree(tmp_path / "alone", tmp_path / "both")
    both = lay_out(config, tmp_path / "run", store=tmp_path / "both", on=ray_at("ray", data_parallel=2))
    assert losses(both) == pytest.approx(losses(alone), abs=1e-4)
    assert len(losses(both)) == 3
