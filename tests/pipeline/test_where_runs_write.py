"""Where a run writes: into itself and into a store, whatever its own file says."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cear.config import RunConfig
from cear.core.errors import MismatchError
from cear.core.seals import read_sealed, write_sealed
from cear.pipeline import open_run, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> Path:
    """A finished run that keeps its steps itself."""
    place = tmp_path_factory.mktemp("places")
    stage1 = {"rank": 4, "epochs": 1, "validate_every": 1}
    config = RunConfig.model_validate({"data": str(write_towns(place / "towns")), "stage1": stage1})
    return run(config, place / "run").folder


def with_store(folder: Path, store: Path) -> None:
    """Let the run in a folder say that its steps are in a store."""
    write_sealed(folder / "run.json", read_sealed(folder / "run.json") | {"store": str(store)})


@pytest.fixture
def stranger(folder: Path, tmp_path: Path) -> Path:
    """A copy of the run, as somebody else may hand it over."""
    return shutil.copytree(folder, tmp_path / "stranger")


def test_a_place_that_is_no_store_is_not_written_into(stranger: Path, tmp_path: Path) -> None:
    victim = tmp_path / "home"
    victim.mkdir()
    with_store(stranger, victim)
    opened = open_run(stranger)
    opened.evaluate("test")
    assert opened.plan.store.folder == stranger / "steps"
    assert not [*victim.iterdir()]


def test_a_store_that_a_run_names_goes_on_being_its_store(stranger: Path, tmp_path: Path) -> None:
    (stranger / "steps").rename(tmp_path / "store")
    with_store(stranger, tmp_path / "store")
    assert open_run(stranger).plan.store.folder == tmp_path / "store"


def test_one_that_is_gone_is_named(stranger: Path, tmp_path: Path) -> None:
    shutil.rmtree(stranger / "steps")
    with_store(stranger, tmp_path / "gone")
    with pytest.raises(MismatchError, match=r"stage1 is no longer in \S*gone\."):
        open_run(stranger)
