"""export as a user types it: the files on standard output, a clear message when there is nothing to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cear.cli import app
from cear.config import RunConfig
from cear.core.errors import MismatchError
from cear.pipeline import run


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> Path:
    data = write_towns(tmp_path_factory.mktemp("data") / "towns")
    config = RunConfig.model_validate({"data": str(data), "stage1": {"rank": 8, "batch": 60, "epochs": 2}})
    return run(config, tmp_path_factory.mktemp("runs") / "towns").folder


def test_the_files_are_named(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "exported"
    arguments = ["export", str(finished), "--out", str(out), "--what", "trec", "--split", "valid", "--k", "3"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [str(out / "valid.run"), str(out / "valid.qrels")]
    ranks = [line.split()[3] for line in (out / "valid.run").read_text().splitlines()]
    assert set(ranks) == {"1", "2", "3"}


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["export", str(tmp_path), "--out", str(tmp_path / "exported")])
    assert isinstance(done.exception, MismatchError)
    assert not (tmp_path / "exported").exists()
