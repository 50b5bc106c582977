"""Several processes train as one: each computes its parts of a batch, and all end with the same weights."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cear.core.context import HERE
from cear.core.tensors import read_tensors
from cear.data import load
from cear.retrieval import ComplExConfig
from cear.training import BEST

SMALL: dict[str, Any] = {"rank": 4, "batch": 20, "epochs": 3, "embedding": {"kind": "rows", "scale": 0.3}}
TRAININGS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "lazy adam, few negatives": {
        "loss": {"kind": "self_adversarial", "negatives": 3, "subsampling": True},
        "optimizer": {"kind": "lazy_adam"},
        "batch": 3,
    },
}

# Every training in one start of the processes, for that is what takes the time.
WORKER = """
import json, sys
from pathlib import Path
from cear.core.context import HERE
from cear.data import load
from cear.retrieval import ComplExConfig

data, out, trainings = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
for name, settings in trainings.items():
    fitted = ComplExConfig.model_validate(settings).fit(load(str(data)), out / name, HERE)
    (out / f"{name}, {sys.argv[4]}.json").write_text(json.dumps(fitted.training.history))
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, write_towns: Any) -> Path:
    folder: Path = write_towns(tmp_path_factory.mktemp("data") / "towns")
    return folder


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    """The folder of both trainings, by two processes that talk over Gloo."""
    out = tmp_path_factory.mktemp("together")
    settings = json.dumps({name: SMALL | other for name, other in TRAININGS.items()})
    env = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(data), str(out), settings, rank],
            env=os.environ | env | {"RANK": rank, "LOCAL_RANK": rank},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in ("0", "1")
    ]
    try:
        errors = [process.communicate(timeout=120)[1] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0, 0], "\n".join(errors)
    return out


@pytest.mark.parametrize("name", TRAININGS)
def test_two_processes_train_as_one_does(name: str, together: Path, data: Path, tmp_path: Path) -> None:
    alone = ComplExConfig.model_validate(SMALL | TRAININGS[name]).fit(load(str(data)), tmp_path, HERE).training.history
    histories = [json.loads((together / f"{name}, {rank}.json").read_text()) for rank in (0, 1)]
    assert histories[0] == histories[1], "all know how it went"
    assert [look["loss"] for look in histories[0]] == pytest.approx([look["loss"] for look in alone], rel=1e-5)
    weights, expected = (read_tensors(folder / BEST)[0] for folder in (together / name, tmp_path))
    for key, value in expected.items():
        assert weights[key].numpy() == pytest.approx(value.numpy(), abs=1e-5), key
