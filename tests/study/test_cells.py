"""Cells of the study: what a configuration's header says is what is made, and what has a record is not made again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cear.cli import app
from cear.core.errors import ConfigError
from cear.study import Cell, Making, command_of, missing, seeds_of

SETTINGS = "stage1: {model: complex, rank: 6, batch: 20, epochs: 1, loss: {kind: softmax}}\n"


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_towns: Callable[..., Path]) -> Cell:
    """A small cell in a repository of its own."""
    monkeypatch.chdir(tmp_path)
    data = write_towns(tmp_path / "towns")
    path = Path("configs/towns/one.yaml")
    path.parent.mkdir(parents=True)
    run = "cear run configs/towns/one.yaml --out runs/towns/one --json results/towns/one.json"
    sizes = "sizes: {paper: {stage1: {rank: 8}}}\n"
    path.write_text(f"# A cell.\n# Command: {run}\ndata: {data.relative_to(tmp_path)}\n{SETTINGS}{sizes}")
    return Cell.of("towns", "one")


def change(cell: Cell, old: str, new: str) -> None:
    cell.config.write_text(cell.config.read_text().replace(old, new))


class TestPlaces:
    def test_they_are_those_of_the_header(self, cell: Cell) -> None:
        assert (cell.out, cell.record) == (Path("runs/towns/one"), Path("results/towns/one.json"))
        assert cell.name == "towns/one"
        assert cell.command.split() == command_of(cell.config)

    def test_seeds_and_sizes_have_their_own(self, cell: Cell) -> None:
        other = Cell(cell.config, "paper", 2)
        assert other.record == Path("results/paper/towns/one-seed2.json")
        assert other.command == (
            "cear run configs/towns/one.yaml size=paper seed=2 --out runs/paper/towns/one-seed2 "
            "--json results/paper/towns/one-seed2.json"
        )
        assert (other.settings.stage1.rank, other.settings.seed) == (8, 2)

    def test_validation_has_its_own(self, cell: Cell) -> None:
        assert cell.on("valid").record == Path("results/towns/valid/one.json")
        assert cell.on("valid").command == (
            "cear evaluate runs/towns/one --split valid --json results/towns/valid/one.json"
        )

    def test_a_sample_is_said_in_the_header(self, cell: Cell) -> None:
        change(cell, "one.yaml --out", "one.yaml --facts 5 --out")
        assert Cell(cell.config).facts == 5
        assert "--facts 5" in Cell(cell.config).command

    def test_a_header_without_a_command_is_refused(self, cell: Cell) -> None:
        change(cell, "# Command", "# Not a command")
        with pytest.raises(ConfigError, match="no line of its header is `# Command: cear run"):
            command_of(cell.config)

    def test_outside_of_the_repository_it_says_so(self) -> None:
        with pytest.raises(ConfigError, match="run in it"):
            command_of(Path("configs/nowhere/x.yaml"))


class TestMaking:
    def test_what_is_made_is_not_missing_any_more(self, cell: Cell) -> None:
        assert missing([cell, cell]) == [cell]
        Making().make(cell)
        assert missing([cell]) == []
        record = json.loads(cell.record.read_text())
        assert record["provenance"]["command"] == cell.command

    def test_other_settings_make_it_missing_again(self, cell: Cell) -> None:
        Making().make(cell)
        change(cell, "rank: 6", "rank: 7")
        assert missing([cell]) == [cell]

    def test_another_sample_makes_it_missing_again(self, cell: Cell) -> None:
        Making().make(cell)
        change(cell, "one.yaml --out", "one.yaml --facts 2 --out")
        assert missing([Cell(cell.config)]) == [Cell(cell.config)]

    def test_it_is_what_the_command_makes(self, cell: Cell) -> None:
        Making().make(cell)
        ours = json.loads(cell.record.read_text())
        cell.record.unlink()
        assert CliRunner().invoke(app, cell.command.split()[1:]).exit_code == 0
        assert json.loads(cell.record.read_text())["stage1"] == ours["stage1"]

    def test_validation_is_measured_on_the_same_run(self, cell: Cell) -> None:
        Making().make(cell.on("valid"))
        assert json.loads(cell.on("valid").record.read_text())["split"] == "valid"
        assert missing([cell]) == [cell]


class TestSeeds:
    def test_a_cheap_cell_has_all_of_them(self, cell: Cell) -> None:
        Making().make(cell)
        assert [each.seed for each in seeds_of(cell)] == [0, 1, 2]

    def test_a_cell_of_an_hour_has_one(self, cell: Cell) -> None:
        Making().make(cell)
        record = json.loads(cell.record.read_text())
        record["provenance"]["seconds"] = 3600.0
        cell.record.write_text(json.dumps(record))
        assert [each.seed for each in seeds_of(cell)] == [0]

    def test_what_nobody_has_made_has_one(self, cell: Cell) -> None:
        assert [each.seed for each in seeds_of(cell)] == [0]
