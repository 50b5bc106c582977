"""The benchmarks of clusters: one of them whole at the smallest size, and what the others count."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cear.config import RunConfig

CONFIG: dict[str, Any] = {
    "threads": 1,
    "stage1": {"rank": 4, "batch": 60, "epochs": 1},
    "candidates": {
        "k": 6,
        "crossfit": {"folds": 3, "held_out_folds": 2},
        "extra_retrievers": {"rules": {"model": "rules"}},
    },
    "reranker": {"kind": "wide", "text": False, "width": 8, "heads": 2, "epochs": 1, "max_tokens": 400},
    "refit": True,
}


@pytest.fixture
def on_ray(script: Any) -> Any:
    """What these benchmarks share; `script` makes it importable."""
    del script
    return importlib.import_module("on_ray")


def test_one_process_and_workers_of_ray_leave_equal_files(
    script: Any, write_towns: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    config, out = tmp_path / "small.yaml", tmp_path / "record.json"
    config.write_text(yaml.safe_dump(CONFIG | {"data": str(write_towns(tmp_path / "towns"))}))
    script("cluster_equal").main(["--workers", "2", "--machines", "0", "--config", str(config), "--out", str(out)])
    record = json.loads(out.read_text())
    assert record["equal"]
    assert record["each"].keys() == {"one process", "Ray, workers: 2"}
    assert len(record["files"]) > 10
    assert any(name.startswith("proposals/") for name in record["files"]), "a completion is among it"


def test_the_run_that_is_compared_has_both_stages_three_folds_and_probabilities(on_ray: Any) -> None:
    config = RunConfig.model_validate(on_ray.CONFIG)
    assert config.reranker is not None
    assert config.calibration is not None
    assert config.candidates.crossfit is not None
    assert config.candidates.crossfit.held_out_folds == 3
    assert len(config.candidates.extra_retrievers) == 3


class TestKills:
    def test_a_worker_that_makes_a_step_is_told_by_what_it_is_called(self, script: Any) -> None:
        del script
        is_step = importlib.import_module("on_ray.killing").is_step
        assert [is_step(title) for title in ("ray::fold 0, rules", "ray::IDLE", "raylet", "")] == [
            True,
            False,
            False,
            False,
        ]

    def test_only_processes_of_ones_own_are_found_and_killed(self, on_ray: Any) -> None:
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        assert process.pid in on_ray.descendants(os.getpid())
        on_ray.kill(process.pid)
        assert process.wait() == -9
        assert process.pid not in on_ray.descendants(os.getpid())
        on_ray.kill(process.pid)  # which is gone

    def test_a_record_counts_kills_and_what_they_cost(self, script: Any) -> None:
        module = script("cluster_kills")
        options = module.parse(["--kills", "3"])
        kills = [{"what": what, "second": 1.0, "making": []} for what in ("worker", "driver", "worker")]
        trials = [{"kills": kills[:2], "seconds": 30.0, "different": []}]
        trials += [{"kills": kills[2:], "seconds": 20.0, "different": ["lists/x"]}]
        found = {"undisturbed_seconds": 10.0, "files": {}, "each_trial": trials}
        made = module.record(found, options, {"data": "demo"}, 1.0)
        assert (made["kills"], made["trials"], made["equal"]) == (3, 2, 1)
        assert made["kills_of"] == {"driver": 1, "worker": 2}
        assert made["seconds_lost_per_kill"] == 10.0


class TestSpeed:
    def test_ratios_are_those_of_medians(self, script: Any) -> None:
        module = script("cluster_speed")
        seconds = dict(zip(module.WAYS, [[10.0, 12.0, 10.0], [11.0, 11.0, 20.0], [5.5, 6.0, 5.0]], strict=True))
        found = module.compared(seconds)
        assert found["overhead"] == pytest.approx(0.1)
        assert found["two_workers_to_one"] == pytest.approx(2.0)

    def test_trainings_are_compared_by_lists_a_second_and_by_their_losses(self, script: Any) -> None:
        one = {"seconds": 10.0, "lists": 100, "losses": [1.0, 0.5]}
        found = script("cluster_speed").told(one, {"seconds": 8.0, "lists": 100, "losses": [1.0, 0.50001]})
        assert found["two_to_one"] == pytest.approx(1.25)
        assert found["largest_difference_of_losses"] == pytest.approx(1e-5)

    @pytest.mark.parametrize("name", ["FOLDS", "STAGE2"])
    def test_its_runs_are_valid_and_on_one_thread(self, script: Any, name: str) -> None:
        config = RunConfig.model_validate(getattr(script("cluster_speed"), name))
        assert config.threads == 1
        assert config.candidates.crossfit is not None
