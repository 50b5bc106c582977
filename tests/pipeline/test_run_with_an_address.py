"""A run whose steps are at an address: named in its folder, found by other machines, asked only where it is known."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cear.cli import app
from cear.config import RunConfig
from cear.core.errors import ConfigError, MismatchError
from cear.pipeline import Run, lay_out, open_run, run
from cear.steps import Address

Machine = Callable[[str], None]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("machines")


@pytest.fixture(scope="module")
def on_machine(place: Path) -> Iterator[Machine]:
    """Goes to a machine, which has a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        yield lambda name: patch.setenv("CEAR_CACHE", str(place / name))


@pytest.fixture(scope="module")
def config(place: Path, write_towns: Callable[..., Path]) -> RunConfig:
    stage1 = {"rank": 4, "epochs": 1, "validate_every": 1}
    return RunConfig.model_validate({"data": str(write_towns(place / "towns")), "stage1": stage1})


@pytest.fixture(scope="module")
def address(place: Path) -> str:
    return f"file://{place}/shared"


@pytest.fixture(scope="module")
def finished(place: Path, config: RunConfig, address: str, on_machine: Machine) -> Run:
    on_machine("first")
    return run(config, place / "run", store=address)


def test_its_folder_names_the_address_as_it_was_given(finished: Run, address: str) -> None:
    assert json.loads((finished.folder / "run.json").read_text())["store"] == address
    assert not (finished.folder / "steps").exists()


def test_who_made_it_opens_it_without_naming_the_store(finished: Run, on_machine: Machine) -> None:
    on_machine("first")
    again = open_run(finished.folder)
    assert str(again.plan.store.home) == str(finished.plan.store.home)
    assert again.evaluate("test").summary() == finished.evaluate("test").summary()


def test_another_machine_trains_nothing(finished: Run, config: RunConfig, address: str, on_machine: Machine) -> None:
    on_machine("second")
    plan = lay_out(config, finished.folder, store=address)
    assert all(plan.store.has(step) for step in plan.last)
    again = run(config, finished.folder.with_name("run of the second"), store=address)
    assert all(report.reused for report in again.plan.store.reports.values())
    assert again.ask("lies_in", subject="t1") == finished.ask("lies_in", subject="t1")


def test_an_address_that_a_stranger_names_is_not_asked(finished: Run, address: str, on_machine: Machine) -> None:
    on_machine("third")
    with pytest.raises(MismatchError, match=r"stage1 is no longer in file://.*named it on this machine, too.*--store"):
        open_run(finished.folder)
    assert not Address(address).is_known
    assert open_run(finished.folder, store=address).evaluate("test").summary() == finished.evaluate("test").summary()
    assert open_run(finished.folder), "from now on it is known"


def test_new_steps_of_an_open_run_can_be_kept_in_a_folder(finished: Run, on_machine: Machine, tmp_path: Path) -> None:
    on_machine("first")
    opened = open_run(finished.folder, store=tmp_path / "mine")
    opened.evaluate("train")
    assert opened.plan.store.folder == tmp_path / "mine"
    assert [*(tmp_path / "mine").glob("evaluation*/*/ranks.parquet")]
    assert not [*(tmp_path / "mine").glob("retriever*")]


def test_an_address_that_became_a_path_is_refused(config: RunConfig, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has one slash where an address has two"):
        run(config, tmp_path / "run", store=Path("s3://bucket/steps"))


def test_the_command_line_takes_addresses(finished: Run, address: str, on_machine: Machine, tmp_path: Path) -> None:
    on_machine("first")
    calls: list[list[Any]] = [
        ["run", finished.folder / "config.yaml", "--out", tmp_path / "run", "--store", address],
        ["evaluate", tmp_path / "run", "--store", address],
        ["ask", tmp_path / "run", "Town 1", "lies in", "--store", address],
    ]
    for call in calls:
        done = CliRunner().invoke(app, [str(each) for each in call])
        assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "run" / "run.json").read_text())["store"] == address
    assert not (tmp_path / "file:").exists()


def test_copies_of_this_machine_may_be_deleted_at_any_time(finished: Run, on_machine: Machine) -> None:
    on_machine("first")
    shutil.rmtree(finished.plan.store.folder)
    finished.plan.store.folder.mkdir()
    assert open_run(finished.folder).evaluate("valid").summary()
