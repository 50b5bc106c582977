"""Who makes steps on a cluster: asked for by name, with clear words where that is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cear.cli import app
from cear.cluster import ray_at
from cear.cluster.connecting import openmp_threads
from cear.core.errors import ClusterError, ConfigError


def test_a_place_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"--on slurm: no such place\. Say ray for this machine"):
        ray_at("slurm")


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClusterError, match=r"pip install 'cear\[cluster\]'"):
        ray_at("ray")


@pytest.mark.parametrize("words", [["--on", "ray"], []])
def test_the_command_line_takes_the_place_as_an_option_or_from_the_environment(
    words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    environment = {} if words else {"CEAR_ON": "ray"}
    done = CliRunner().invoke(app, ["run", "demo", "--out", str(tmp_path), *words], env=environment)
    assert isinstance(done.exception, ClusterError)


def test_processes_that_train_together_need_somebody_who_starts_them(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["run", "demo", "--out", str(tmp_path), "--data-parallel", "2"])
    assert isinstance(done.exception, ConfigError)
    assert "--data-parallel 2" in str(done.exception)


def test_workers_take_as_many_threads_of_openmp_as_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert openmp_threads() == "3"
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert int(openmp_threads()) == len(os.sched_getaffinity(0))


def test_nothing_of_ray_is_imported_unless_it_is_asked_for() -> None:
    program = "import sys, cear.cli, cear.pipeline, cear.cluster.executor; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
