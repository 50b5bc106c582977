"""compare and results as a user types them: two runs, their records, and whether these still hold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cear.cli import app
from cear.core.errors import DataError, MismatchError
from cear.evaluation import compare
from cear.reports import checking, open_ranks

CONFIG = "data: towns\nseed: 1\nstage1: {rank: 8, batch: 20, epochs: 1}\n"


def cear(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> Path:
    """A working folder with data, a configuration, and the records of two runs of it."""
    folder = tmp_path_factory.mktemp("place")
    write_towns(folder / "towns")
    (folder / "towns.yaml").write_text(CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for rank in (2, 8):
            arguments = ["run", "towns.yaml", f"stage1.rank={rank}", "--out", f"runs/{rank}"]
            patch.setattr("sys.argv", ["cear", *arguments, "--json", f"results/{rank}.json"])
            done = cear(*arguments, "--json", f"results/{rank}.json")
            assert done.exit_code == 0, done.output
        done = cear("evaluate", "runs/2", "--json", "runs/2/test.json")
        assert done.exit_code == 0, done.output
    return folder


@pytest.fixture(autouse=True)
def _there(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)


class TestCompare:
    def test_it_prints_the_paired_test_of_two_records(self, tmp_path: Path) -> None:
        done = cear("compare", "results/2.json", "results/8.json", "--json", tmp_path / "found.json")
        assert done.exit_code == 0, done.output
        expected = compare(*(open_ranks(Path(f"results/{rank}.json")) for rank in (2, 8)))["mrr"]
        assert f"{expected.difference:+.3f}" in done.stdout
        for relation in ("lies in", "twinned with", "road to"):
            assert relation in done.stdout
        found = json.loads((tmp_path / "found.json").read_text())
        assert found["sides"][0]["mrr"]["p"] == expected.p
        assert (found["first"], found["second"]) == ("results/2.json", "results/8.json")

    def test_fewer_relations(self) -> None:
        done = cear("compare", "results/2.json", "results/8.json", "--relations", 0)
        assert "both" in done.stdout
        assert "lies in" not in done.stdout

    def test_the_folder_of_a_run_is_its_record(self) -> None:
        done = cear("compare", "runs/2", "results/2.ranks.parquet", "--relations", 1)
        assert done.exit_code == 0, done.output
        assert "+0.000 to +0.000" in done.stdout, "the same run twice"

    def test_other_queries_are_refused(self, tmp_path: Path) -> None:
        cear("evaluate", "runs/2", "--split", "valid", "--json", tmp_path / "valid.json")
        done = cear("compare", "results/2.json", tmp_path / "valid.json")
        assert isinstance(done.exception, MismatchError)
        assert "evaluated on different queries: 'towns' test (24) and 'towns' valid (26)" in str(done.exception)

    def test_records_of_two_protocols_are_refused(self, tmp_path: Path) -> None:
        cear("evaluate", "runs/2", "--protocol", "care", "--json", tmp_path / "care.json")
        done = cear("compare", "results/2.json", tmp_path / "care.json")
        assert isinstance(done.exception, MismatchError)
        assert "different protocols, 'ours' and 'care'" in str(done.exception)

    def test_a_record_without_ranks_is_refused(self, tmp_path: Path) -> None:
        record = json.loads(Path("results/2.json").read_text())
        del record["ranks"]
        (tmp_path / "old.json").write_text(json.dumps(record))
        done = cear("compare", tmp_path / "old.json", "results/8.json")
        assert isinstance(done.exception, DataError)
        assert "does not hold the rank of every query" in str(done.exception)


class TestResults:
    @pytest.fixture(autouse=True)
    def _same_code(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The package, which may be in any state while tests run, is as the records have it."""
        monkeypatch.setattr(checking, "changed_since", lambda _: False)

    def test_the_table_has_a_row_for_each(self) -> None:
        _, _, first, second = cear("results").stdout.strip().splitlines()
        assert [row.split(" | ")[1] for row in (first, second)] == ["[2](../results/2.json)", "[8](../results/8.json)"]

    def test_records_that_still_hold_pass(self) -> None:
        done = cear("results", "--check")
        assert done.exit_code == 0, done.output
        assert "2.json" in done.stdout
        assert "changed" not in done.stdout

    def test_another_setting_in_the_file_is_found(
        self, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        copy = shutil.copytree(place, tmp_path / "copy")
        (copy / "towns.yaml").write_text(CONFIG.replace("epochs: 1", "epochs: 2"))
        monkeypatch.chdir(copy)
        done = cear("results", "--check")
        assert done.exit_code == 1
        assert "stage1.epochs was 1, is 2" in done.stdout
        assert "stage1.rank" not in done.stdout, "the command says the rank"

    def test_a_file_that_no_longer_parses_is_found(
        self, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        copy = shutil.copytree(place, tmp_path / "copy")
        (copy / "towns.yaml").write_text(CONFIG.replace("epochs", "epoks"))
        monkeypatch.chdir(copy)
        done = cear("results", "--check", "results")
        assert done.exit_code == 1
        assert "no such setting" in done.stdout

    def test_other_data_is_found(self, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        copy = shutil.copytree(place, tmp_path / "copy")
        with (copy / "towns" / "train.txt").open("a") as file:
            file.write("t1\tlies_in\tt2\n")
        monkeypatch.chdir(copy)
        done = cear("results", "--check")
        assert done.exit_code == 1
        assert "the digest was" in done.stdout
