"""The curves of a run: a row for every epoch of every training, beside its steps and no part of them."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cear.config import RunConfig
from cear.core.errors import OutOfTime
from cear.core.watching import Epoch
from cear.pipeline import run
from cear.pipeline.curves import Curves

STAGE1: dict[str, Any] = {"rank": 4, "batch": 60, "epochs": 4, "validate_every": 2}


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "curves.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> RunConfig:
    data = write_towns(tmp_path_factory.mktemp("data") / "towns")
    beside = {"extra_retrievers": {"rules": {"model": "rules"}, "other": {"model": "distmult", **STAGE1}}}
    return RunConfig.model_validate({"data": str(data), "stage1": STAGE1, "candidates": beside})


@pytest.fixture(scope="module")
def finished(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(config, tmp_path_factory.mktemp("runs") / "towns").folder


def test_every_epoch_of_every_training_has_a_row(finished: Path) -> None:
    rows = rows_of(finished)
    for training in ("stage1", "other"):
        mine = [row for row in rows if row["training"] == training]
        assert [int(row["epoch"]) for row in mine] == [1, 2, 3, 4]
        assert all(float(row["loss"]) > 0 for row in mine)
        assert [bool(row["valid"]) for row in mine] == [False, True, False, True], "validated every second epoch"
        seconds = [float(row["seconds"]) for row in mine]
        assert seconds == sorted(seconds)


def test_they_are_those_of_the_history(finished: Path) -> None:
    (kept,) = finished.glob("steps/retriever-complex/*/training.json")
    history = json.loads(kept.read_text())["history"]
    rows = [row for row in rows_of(finished) if row["training"] == "stage1" and row["valid"]]
    assert [(int(row["epoch"]), float(row["loss"]), float(row["valid"])) for row in rows] == [
        (each["epoch"], each["loss"], each["valid"]) for each in history
    ], "unrounded"


def test_a_run_that_reuses_steps_has_the_epochs_that_were_validated(
    config: RunConfig, finished: Path, tmp_path: Path
) -> None:
    again = run(config, tmp_path / "again", store=finished / "steps")
    rows = [row for row in rows_of(again.folder) if row["training"] == "stage1"]
    assert [(int(row["epoch"]), row["seconds"]) for row in rows] == [(2, ""), (4, "")]


def test_run_again_it_keeps_what_it_has(config: RunConfig, finished: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(finished, tmp_path / "copy")
    run(config, copy)
    assert rows_of(copy) == rows_of(finished)


def test_an_interrupted_training_has_each_epoch_once(config: RunConfig, finished: Path, tmp_path: Path) -> None:
    for _ in range(100):
        try:
            run(config, tmp_path / "run", minutes=0)
            break
        except OutOfTime:
            continue
    told = [
        [(row["training"], row["epoch"], row["loss"]) for row in rows_of(each)] for each in (tmp_path / "run", finished)
    ]
    assert told[0] == told[1]


class TestTheFile:
    def test_an_epoch_that_is_told_again_voids_later_ones(self, tmp_path: Path) -> None:
        curves = Curves(tmp_path / "curves.csv")
        for epoch in (1, 2, 3):
            curves.add(Epoch("a", epoch, 1 / epoch, None, 0.5), Epoch("b", epoch, None, 0.5, None))
        Curves(tmp_path / "curves.csv").add(Epoch("a", 2, 0.25, None, 0.5))
        told = [(row["training"], row["epoch"], row["loss"]) for row in rows_of(tmp_path)]
        assert told == [("a", "1", "1.0"), ("b", "1", ""), ("b", "2", ""), ("b", "3", ""), ("a", "2", "0.25")]

    @pytest.mark.parametrize("damage", ["training,epoch\n", "training,epoch,loss,valid,seconds\na,x,1,,\n", "\0\n"])
    def test_a_damaged_one_begins_anew_and_says_so(
        self, damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "curves.csv").write_text(damage + "a,1\n")
        Curves(tmp_path / "curves.csv").add(Epoch("a", 1, 0.5, None, None))
        assert "begins anew" in caplog.text
        assert len(rows_of(tmp_path)) == 1
