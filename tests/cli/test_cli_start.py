"""How the program is started, and which one it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cear
from cear.cli import app


def test_it_says_its_version() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"cear {cear.__version__}\n")


def test_python_runs_the_package_and_gives_its_exit_code(tmp_path: Path) -> None:
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "cear", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120)

    assert call("--version").stdout == f"cear {cear.__version__}\n"
    wrong = call("data", "check", "nowhere")
    assert wrong.returncode == 2
    assert "Error: " in wrong.stderr


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ([], "--version"),
        (["run"], "own, demo"),
        (["ask"], "--details"),
        (["ask"], "--csv"),
        (["evaluate"], "--csv"),
        (["data", "check"], "--csv"),
    ],
)
def test_the_help_tells_it(command: list[str], told: str) -> None:
    done = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"})
    assert told in done.stdout
