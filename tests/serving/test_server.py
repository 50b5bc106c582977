"""The real process: it says where it is, answers, and loses nobody when it is told to end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cear.core.errors import ConfigError
from cear.serving.desk import Desk
from cear.serving.server import serve
from cear.serving.settings import ServiceSettings

CLIENTS = 24


@pytest.fixture
def folder(people_run: Any, tmp_path: Path) -> Path:
    """A copy of a run: its decisions are this test's own."""
    return Path(shutil.copytree(people_run.folder, tmp_path / "run"))


@pytest.fixture
def process(folder: Path) -> Iterator[subprocess.Popen[str]]:
    code = "from cear.cli import program; program()"
    command = [sys.executable, "-c", code, "serve", str(folder), "--port", "0", "--patience", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        yield started
        started.kill()


def in_progress(address: str) -> int:
    """How many requests it has let in and not answered, but for this one."""
    counted = httpx.get(f"{address}/metrics").text.partition("\ncear_requests_in_progress ")[2]
    return int(float(counted.split("\n")[0])) - 1


def test_a_process_that_is_told_to_end_answers_everybody_whom_it_let_in(process: Any) -> None:
    told = process.stdout.readline()
    address = told.split()[4]
    assert told.startswith(f"The desk is at {address}"), process.stderr.read()
    lost: list[Exception] = []
    answered: list[int] = []
    begun = threading.Barrier(CLIENTS + 1)

    def client(number: int) -> None:
        with httpx.Client(base_url=address, timeout=60) as asking:
            assert asking.get("/health").status_code == 200  # the connection stands
            begun.wait()
            try:
                answered.append(asking.get("/ask", params={"subject": f"p{number}", "relation": "speaks"}).status_code)
            except httpx.HTTPError as error:
                lost.append(error)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    begun.wait()
    while in_progress(address) + len(answered) < CLIENTS:
        pass
    os.kill(process.pid, signal.SIGTERM)
    for thread in threads:
        thread.join()
    assert lost == []
    assert answered == [200] * CLIENTS
    process.wait(30)
    assert "Traceback" not in process.stderr.read()


def test_what_keeps_a_run_from_being_opened_is_raised() -> None:
    def opener() -> Desk:
        raise ConfigError("This is no run.")

    with pytest.raises(ConfigError, match="no run"):
        serve(opener, ServiceSettings(port=0), lambda address: None)  # noqa: ARG005 - nobody is told


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port}.*Take another"):
            serve(pytest.fail, ServiceSettings(port=port), print)  # type: ignore[arg-type]
