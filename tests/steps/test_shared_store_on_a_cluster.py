"""Machines that share nothing but an address: a command outside the cluster, workers inside, and steps on S3."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cear.steps import Address

pytest.importorskip("ray", reason="clusters are an extra: pip install 'cear[cluster]'")

CONFIG: dict[str, Any] = {
    "threads": 1,
    "stage1": {"rank": 4, "batch": 60, "epochs": 1},
    "candidates": {"k": 6, "crossfit": {"folds": 3}},
    "reranker": {"kind": "wide", "text": False, "width": 8, "heads": 2, "epochs": 1, "max_tokens": 400},
}
# A cluster on this machine that is asked from outside, as `ray start --head` starts one for all its addresses.
SERVER = """
import sys, time
import ray
from ray.util.client.server.server import serve
ray.init(address="local", num_cpus=2, object_store_memory=128 * 2**20, include_dashboard=False,
         _node_ip_address="127.0.0.1")
server = serve("127.0.0.1", int(sys.argv[1]))
print("serves", flush=True)
time.sleep(600)
"""


@pytest.fixture
def outside(tmp_path: Path, s3: Address) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a cluster, and the environment that a command outside of it needs: a token, and S3."""
    del s3  # its environment is what the workers need, too
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef0123456789abcdef", "HOME": str(tmp_path)}
    shared = os.environ | token | {"RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}
    started = [sys.executable, "-c", SERVER, str(port)]
    here = shared | {"CEAR_CACHE": str(tmp_path / "cache of workers")}
    with subprocess.Popen(started, env=here, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "serves\n"
        yield f"ray://127.0.0.1:{port}", shared | {"CEAR_CACHE": str(tmp_path / "cache")}
        server.terminate()


def test_a_command_outside_a_cluster_and_its_workers_share_steps_on_s3(
    outside: tuple[str, dict[str, str]], s3: Address, write_towns: Callable[..., Path], tmp_path: Path
) -> None:
    on, environment = outside
    config = tmp_path / "small.yaml"
    config.write_text(yaml.safe_dump(CONFIG | {"data": str(write_towns(tmp_path / "towns"))}))

    def told(out: str, *words: str) -> str:
        command = [sys.executable, "-m", "cear", "run", str(config), "--out", str(tmp_path / out), *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout[: done.stdout.index("steps")]  # the figures, and how many steps there are

    assert told("there", "--store", str(s3), "--on", on) == told("here")
