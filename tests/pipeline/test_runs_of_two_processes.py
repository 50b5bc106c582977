"""Two processes train one run together: the same steps, the same losses, written by one of them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CONFIG = """
data: {data}
seed: 1
threads: 1
stage1: {{model: complex, rank: 8, batch: 20, epochs: 4, validate_every: 2}}
candidates: {{k: 6, crossfit: {{folds: 3}}, extra_retrievers: {{rules: {{model: rules}}}}}}
reranker: {{kind: wide, text: false, width: 8, heads: 2, dropout: 0, epochs: 2, max_tokens: 100}}
"""


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def start(config: Path, out: Path, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from cear.cli import main; main()", "run", str(config), "--out", str(out)]
    whole = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=whole)


def trainings(out: Path) -> dict[str, list[dict[str, float]]]:
    """The history of every training of a run, by the kind of its step."""
    found = {}
    for path in sorted(out.glob("steps/*/*/training.json")):
        values: dict[str, Any] = json.loads(path.read_text())
        states = values.get("phases", {"": values})
        found |= {f"{path.parts[-3]} {path.parts[-2]} {name}": state["history"] for name, state in states.items()}
    return found


def test_two_processes_reach_what_one_reaches(write_towns: Callable[..., Path], tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG.format(data=write_towns(tmp_path / "towns")))
    alone = start(config, tmp_path / "alone")
    _, err = alone.communicate(timeout=120)
    assert alone.returncode == 0, err
    world = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    both = [
        start(config, tmp_path / "both", **world, RANK=str(rank), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="2")
        for rank in range(2)
    ]
    ends = [process.communicate(timeout=200) for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    assert "MRR" in ends[0][0]
    assert ends[1][0] == "", "one of them speaks"
    one, two = trainings(tmp_path / "alone"), trainings(tmp_path / "both")
    assert one.keys() == two.keys()
    assert len(one) >= 4
    for name, history in one.items():
        for mine, its in zip(history, two[name], strict=True):
            assert its == pytest.approx(mine, abs=2e-4), name
