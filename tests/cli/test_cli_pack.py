"""`cear pack`, the packed file in place of a folder, and the record of a run on standard output."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cear.cli import app
from cear.core.errors import DataError

CONFIG = "data: {data}\nseed: {seed}\nstage1: {{rank: 4, batch: 60, epochs: 1}}\n"
QUESTION = ("Town 7", "twinned with", "--json", "-")


@pytest.fixture
def towns(tmp_path: Path, write_towns: Callable[..., Path]) -> Path:
    """A folder with a configuration for towns."""
    (tmp_path / "towns.yaml").write_text(CONFIG.format(data=write_towns(tmp_path / "towns"), seed=0))
    return tmp_path


def call(*arguments: object) -> Result:
    done = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done


def test_a_packed_run_is_asked_and_measured_without_its_folder_and_data(towns: Path) -> None:
    call("run", towns / "towns.yaml", "--out", towns / "run")
    asked, measured = call("ask", towns / "run", *QUESTION).stdout, call("evaluate", towns / "run", "--csv", "-").stdout
    told = call("pack", towns / "run", towns / "towns.cear").stdout
    assert f"{(towns / 'towns.cear').stat().st_size:,} bytes" in told
    shutil.rmtree(towns / "run")
    shutil.rmtree(towns / "towns")
    assert call("ask", towns / "towns.cear", *QUESTION).stdout == asked
    assert call("evaluate", towns / "towns.cear", "--csv", "-").stdout == measured
    call("unpack", towns / "towns.cear", towns / "again")
    assert call("ask", towns / "again", *QUESTION).stdout == asked


def test_a_folder_to_pack_into_is_refused(towns: Path) -> None:
    call("run", towns / "towns.yaml", "--out", towns / "run")
    done = CliRunner().invoke(app, ["pack", str(towns / "run"), str(towns)])
    assert isinstance(done.exception, DataError)
    assert "is a folder" in str(done.exception)


def test_a_dash_prints_the_record_of_a_run_and_makes_no_file_of_that_name(
    towns: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(towns)
    printed = json.loads(call("run", "towns.yaml", "--out", "run", "--json", "-").stdout)
    kept = json.loads((towns / "run" / "test.json").read_text())
    assert printed["stage1"] == kept["stage1"]
    assert not (towns / "-").exists()


def test_several_seeds_are_printed_as_a_list(towns: Path, write_towns: Callable[..., Path]) -> None:
    (towns / "two.yaml").write_text(CONFIG.format(data=write_towns(towns / "towns"), seed=[1, 2]))
    printed = json.loads(call("run", towns / "two.yaml", "--out", towns / "run", "--json", "-").stdout)
    assert len(printed) == 2
