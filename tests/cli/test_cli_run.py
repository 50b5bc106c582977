"""run, evaluate, ask and demo as a user types them: results on one stream, one clear message when it goes wrong."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import cear.config
from cear.cli import app, main
from cear.cli.ask import answer_table
from cear.pipeline import Answer, open_run

MEASURES = ["mrr", "hits@1", "hits@3", "hits@10", "hits@50"]
CONFIG = "data: {data}\nseed: 1\nstage1: {{rank: 8, batch: 20, epochs: 6, validate_every: 3}}\n"
TWO_STAGES = """
data: {data}
stage1: {{rank: 8, batch: 60, epochs: 2}}
candidates: {{k: 6, crossfit: {{folds: 3}}}}
reranker: {{encoder: {encoder}, hidden: 8, epochs: 2, max_tokens: 400, learning_rate: 0.001, text: name}}
"""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Cear = Callable[..., Done]


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is broken, whatever the terminal of whoever runs the tests."""
    monkeypatch.setenv("COLUMNS", "400")


@pytest.fixture
def cear_(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cear:
    """Runs the program in this process, errors and exit code as the shell would see them."""

    def call(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["cear", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Done(int(ended.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> Path:
    """A folder with data, a configuration, and the run that it gives."""
    folder = tmp_path_factory.mktemp("place")
    write_towns(folder / "towns")
    (folder / "towns.yaml").write_text(CONFIG.format(data=folder / "towns"))
    result = CliRunner().invoke(app, ["run", str(folder / "towns.yaml"), "--out", str(folder / "run")])
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, place: Path, encoder_of: Callable[..., str]) -> tuple[Path, Path]:
    """A configuration of two stages, and the run that it gives."""
    folder = tmp_path_factory.mktemp("both")
    config = folder / "both.yaml"
    config.write_text(TWO_STAGES.format(data=place / "towns", encoder=encoder_of()))
    result = CliRunner().invoke(app, ["run", str(config), "--out", str(folder / "run")])
    assert result.exit_code == 0, result.output
    return config, folder / "run"


def assert_shape(record: dict[str, Any], *, split: str, queries: int) -> None:
    assert list(record)[:4] == ["data", "split", "queries", "stage1"]
    assert (record["data"], record["split"], record["queries"]) == ("towns", split, queries)
    assert list(record["stage1"]) == ["both", "head", "tail"]
    for side in record["stage1"].values():
        assert list(side) == MEASURES
        assert all(isinstance(value, float) and 0 <= value <= 1 for value in side.values())


class TestRun:
    def test_it_leaves_the_record_of_the_test_facts(self, place: Path) -> None:
        assert_shape(json.loads((place / "run" / "test.json").read_text()), split="test", queries=24)

    def test_run_again_it_prints_the_same_table_at_once(self, place: Path, cear_: Cear) -> None:
        first, second = (cear_("run", place / "towns.yaml", "--out", place / "run") for _ in range(2))
        assert first.code == 0
        assert first.out == second.out
        assert "0 of them made now" in second.out
        assert "reused: stage1" in second.out
        assert "MRR" in first.out
        assert "24 queries" in first.out

    def test_settings_can_be_changed_on_the_way(self, place: Path, cear_: Cear, tmp_path: Path) -> None:
        done = cear_("run", place / "towns.yaml", "stage1.epochs=1", "stage1.rank=3", "--out", tmp_path / "other")
        assert done.code == 0
        config = open_run(tmp_path / "other").config
        assert (config.stage1.epochs, config.stage1.rank, config.stage1.batch) == (1, 3, 20)

    def test_the_record_goes_where_the_user_wants_it(self, place: Path, cear_: Cear, tmp_path: Path) -> None:
        cear_("run", place / "towns.yaml", "--out", place / "run", "--json", tmp_path / "record.json")
        assert_shape(json.loads((tmp_path / "record.json").read_text()), split="test", queries=24)

    def test_under_cares_protocol_its_record_stands_beside_ours(self, place: Path, cear_: Cear) -> None:
        """Towns have one name each: what is left of the protocol is that training answers alone are filtered."""
        done = cear_("run", place / "towns.yaml", "--out", place / "run", "--protocol", "care")
        assert "CaRe's protocol, ties expected, 24 queries" in done.out
        ours, care = (json.loads((place / "run" / f"{name}.json").read_text()) for name in ("test", "test-care"))
        assert care["protocol"] == "care"
        assert "protocol" not in ours
        assert_shape(care, split="test", queries=24)
        assert care["stage1"]["both"]["mrr"] < ours["stage1"]["both"]["mrr"]

    def test_several_seeds_are_runs_with_mean_and_spread(self, place: Path, cear_: Cear, tmp_path: Path) -> None:
        done = cear_("run", place / "towns.yaml", "seed=[0, 1]", "stage1.epochs=1", "--out", tmp_path / "run")
        assert done.code == 0, done.err
        assert done.out.count("24 queries") >= 2
        for seed in (0, 1):
            assert json.loads((tmp_path / f"run-seed{seed}" / "test.json").read_text())["queries"] == 24
        assert "mean" in done.out


class TestEvaluate:
    def test_the_json_is_the_evaluation_unrounded(self, place: Path, cear_: Cear, tmp_path: Path) -> None:
        done = cear_("evaluate", place / "run", "--split", "valid", "--json", tmp_path / "valid.json")
        assert done.code == 0
        record = json.loads((tmp_path / "valid.json").read_text())
        assert_shape(record, split="valid", queries=26)
        summary = open_run(place / "run").evaluate("valid").summary()
        assert record["stage1"] == summary
        assert f"{summary['both']['mrr']:.3f}" in done.out

    def test_it_measures_the_test_facts_unless_told_otherwise(self, place: Path, cear_: Cear) -> None:
        assert "24 queries" in cear_("evaluate", place / "run").out

    def test_the_tie_rule_is_a_choice(self, place: Path, cear_: Cear) -> None:
        assert "ties optimistic" in cear_("evaluate", place / "run", "--ties", "optimistic").out

    def test_the_protocol_is_a_choice(self, place: Path, cear_: Cear, tmp_path: Path) -> None:
        cear_("evaluate", place / "run", "--protocol", "care", "--json", tmp_path / "care.json")
        record = json.loads((tmp_path / "care.json").read_text())
        assert record["stage1"] == open_run(place / "run").evaluate(protocol="care").summary()

    @pytest.mark.parametrize("option", ["--split=tset", "--ties=random"])
    def test_a_choice_that_there_is_not_lists_those_that_there_are(self, place: Path, cear_: Cear, option: str) -> None:
        done = cear_("evaluate", place / "run", option)
        assert done.code == 2
        assert option.partition("=")[2] in done.err
        assert ("'test'" if "split" in option else "'expected'") in done.err

    def test_data_that_has_moved(self, place: Path, cear_: Cear, tmp_path: Path) -> None:
        moved = shutil.copytree(place / "towns", tmp_path / "towns")
        here, there = cear_("evaluate", place / "run"), cear_("evaluate", place / "run", "--data", moved)
        assert there.code == 0
        assert there.out == here.out


class TestAsk:
    def test_objects_of_a_subject(self, place: Path, cear_: Cear) -> None:
        done = cear_("ask", place / "run", "Town 7", "lies in", "--k", 3)
        assert done.code == 0
        assert "⟨Town 7, lies in, ?⟩" in done.out
        expected = open_run(place / "run").ask("lies in", subject="Town 7", k=3)
        places = positions(done.out, [answer.name for answer in expected])
        assert places == sorted(places)
        assert str(expected[0].known) in done.out

    def test_subjects_of_an_object(self, place: Path, cear_: Cear) -> None:
        done = cear_("ask", place / "run", "Country C", "lies in", "--object")
        assert "⟨?, lies in, Country C⟩" in done.out
        assert open_run(place / "run").ask("lies in", object="Country C")[0].name in done.out

    def test_only_new_answers(self, place: Path, cear_: Cear) -> None:
        plain, new = (cear_("ask", place / "run", "Town 7", "lies in", *flag, "--k", 30) for flag in ([], ["--new"]))
        assert "Country C" in plain.out
        assert "Country C" not in new.out
        assert "train" not in new.out

    def test_names_with_brackets_and_colons_are_shown_as_they_are(self) -> None:
        console = Console(width=100, record=True, file=io.StringIO())
        console.print(answer_table("⟨[/x], r, ?⟩", [Answer(1, 1, "q", "Home [sic] :cat: [bold]", 0.5, None)]))
        text = console.export_text()
        assert "Home [sic] :cat: [bold]" in text
        assert "⟨[/x], r, ?⟩" in text


def positions(text: str, names: list[str]) -> list[int]:
    found = [text.find(f" {name} ") for name in names]
    assert -1 not in found
    return found


class TestTwoStages:
    def test_the_tables_show_stage_1_and_stage_2_and_what_changed(self, both: tuple[Path, Path], cear_: Cear) -> None:
        done = cear_("evaluate", both[1])
        assert done.code == 0
        for part in ("1 both", "2 both", "p = ", "put first", "lost first place", "recall@6"):
            assert part in done.out

    def test_the_json_has_both(self, both: tuple[Path, Path]) -> None:
        record = json.loads((both[1] / "test.json").read_text())
        assert_shape(record, split="test", queries=24)
        assert list(record["stage2"]["both"]) == MEASURES
        assert sum(record["reranking"]["confusion"].values()) == 24

    def test_a_sample_of_the_facts(self, both: tuple[Path, Path], cear_: Cear) -> None:
        assert "10 queries" in cear_("evaluate", both[1], "--facts", 5).out

    def test_answers_come_with_both_ranks(self, both: tuple[Path, Path], cear_: Cear) -> None:
        done = cear_("ask", both[1], "Town 7", "lies in", "--k", 30)
        answers = open_run(both[1]).ask("lies in", subject="Town 7", k=30)
        assert any(answer.rank != answer.stage1_rank for answer in answers), "re-ranking moved somebody"
        assert "stage 1" in done.out
        places = positions(done.out, [answer.name for answer in answers[:6]])
        assert places == sorted(places)

    def test_out_of_time_it_is_saved_and_the_same_command_continues(
        self, both: tuple[Path, Path], cear_: Cear, tmp_path: Path
    ) -> None:
        command = ["run", both[0], "--out", tmp_path / "run"]
        stopped = cear_(*command, "--minutes", 0)
        assert stopped.code == 3
        assert stopped.out == ""
        assert "The time is over" in stopped.err
        assert "the same command continues" in stopped.err
        assert "Error" not in stopped.err
        done = cear_(*command)
        assert done.code == 0
        heads = "reranker-sequence/*/model/head.safetensors"
        files = [next((folder / "steps").glob(heads)) for folder in (both[1], tmp_path / "run")]
        assert files[0].read_bytes() == files[1].read_bytes()

    def test_eight_bits_answer_nearly_the_same(self, both: tuple[Path, Path], cear_: Cear, tmp_path: Path) -> None:
        pytest.importorskip("onnxruntime")
        done = cear_("evaluate", both[1], "--int8", "--json", tmp_path / "int8.json")
        assert done.code == 0, done.err
        ours, its = (json.loads(path.read_text()) for path in (tmp_path / "int8.json", both[1] / "test.json"))
        assert ours["stage1"] == its["stage1"]
        assert ours["stage2"]["both"]["mrr"] == pytest.approx(its["stage2"]["both"]["mrr"], abs=0.1)
        assert (ours["details"]["reranker"]["int8"], its["details"]["reranker"]["int8"]) == (True, False)
        asked = cear_("ask", both[1], "Town 7", "lies in", "--int8")
        assert asked.code == 0
        assert "⟨Town 7, lies in, ?⟩" in asked.out

    def test_names_that_were_cut_to_fit_are_told(
        self, both: tuple[Path, Path], encoder_of: Callable[..., str], cear_: Cear, tmp_path: Path
    ) -> None:
        tight = f"reranker.encoder={encoder_of('bert', 20)}"
        done = cear_("run", both[0], tight, "reranker.epochs=1", "--out", tmp_path / "run")
        assert "In 100.0% of the training lists names were cut further than configured" in done.out
        assert "cut further" not in cear_("evaluate", both[1]).out


class TestErrors:
    """Each is one message on standard error, exit code 2, no traceback, nothing on standard output."""

    @staticmethod
    def refused(done: Done, *parts: str) -> None:
        assert done.code == 2
        assert done.out == ""
        assert done.err.startswith("Error: ")
        assert done.err.count("Error: ") == 1
        assert "Traceback" not in done.err
        for part in parts:
            assert part in done.err

    def test_a_typo_in_a_name(self, place: Path, cear_: Cear) -> None:
        done = cear_("ask", place / "run", "Twon 17", "lies in")
        self.refused(done, "No entity is called 'Twon 17'.", "Did you mean", "'Town 17'")

    def test_a_typo_in_a_relation(self, place: Path, cear_: Cear) -> None:
        self.refused(cear_("ask", place / "run", "Town 7", "lies inn"), "No relation", "'lies in'")

    def test_a_typo_in_a_setting(self, place: Path, cear_: Cear, tmp_path: Path) -> None:
        done = cear_("run", place / "towns.yaml", "stage1.rnk=3", "--out", tmp_path / "x")
        self.refused(done, "stage1.rnk: no such setting", "Did you mean 'rank'?")
        assert not (tmp_path / "x").exists()

    def test_a_typo_in_a_data_set(self, place: Path, cear_: Cear, tmp_path: Path) -> None:
        done = cear_("run", place / "towns.yaml", "data=fb15k237", "--out", tmp_path / "x")
        self.refused(done, "No data set is called 'fb15k237'", "'fb15k-237'")

    def test_no_such_configuration(self, cear_: Cear, tmp_path: Path) -> None:
        self.refused(cear_("run", tmp_path / "none.yaml"), "There is no configuration", "none.yaml")

    def test_a_run_folder_of_another_configuration(self, place: Path, cear_: Cear) -> None:
        done = cear_("run", place / "towns.yaml", "stage1.rank=9", "--out", place / "run")
        self.refused(done, "another configuration", "{'stage1.rank': 8}", "{'stage1.rank': 9}")

    @pytest.mark.parametrize("command", [["evaluate"], ["ask"]])
    def test_a_folder_that_is_no_run(self, cear_: Cear, tmp_path: Path, command: list[str]) -> None:
        words = ["Town 7", "lies in"] if command == ["ask"] else []
        self.refused(cear_(*command, tmp_path, *words), "holds no finished run", "cear run CONFIG --out FOLDER")

    def test_a_damaged_run(self, place: Path, cear_: Cear, tmp_path: Path) -> None:
        copy = shutil.copytree(place / "run", tmp_path / "copy")
        next((copy / "steps").glob("retriever-complex/*/best.safetensors")).write_bytes(b"")
        told = "best.safetensors is not what was written", "same `cear run` again"
        self.refused(cear_("ask", copy, "Town 7", "lies in"), *told)

    def test_a_bad_line_in_the_data_unless_it_may_be_skipped(self, place: Path, cear_: Cear, tmp_path: Path) -> None:
        data = shutil.copytree(place / "towns", tmp_path / "data")
        with (data / "train.txt").open("a") as file:
            file.write("t1\tlies_in\n")
        command = ["run", place / "towns.yaml", f"data={data}", "stage1.epochs=1", "--out", tmp_path / "x"]
        self.refused(cear_(*command), "train.txt:51")
        assert cear_(*command, "--skip-bad-lines").code == 0

    def test_eight_bits_of_a_stage_that_is_not_there(self, place: Path, cear_: Cear) -> None:
        self.refused(cear_("evaluate", place / "run", "--int8"), "has no second stage", "Leave int8 out")

    def test_a_missing_word_is_explained(self, place: Path, cear_: Cear) -> None:
        done = cear_("ask", place / "run", "Town 7")
        assert done.code == 2
        assert "missing argument 'relation'" in done.err.lower()


class TestHelp:
    @pytest.mark.parametrize("command", ["run", "evaluate", "ask", "demo"])
    def test_it_teaches_with_an_example(self, command: str, cear_: Cear) -> None:
        done = cear_(command, "--help")
        assert done.code == 0
        assert "Usage" in done.out
        assert f"cear {command}" in done.out

    def test_run_tells_its_exit_codes(self, cear_: Cear) -> None:
        told = " ".join(cear_("run", "--help").out.split())
        for part in (
            "0 when all is done",
            "3 when --minutes are over",
            "130 after Ctrl-C",
            "the same command continues",
        ):
            assert part in told


def test_the_demo_trains_measures_and_answers(cear_: Cear, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    full = cear.config.load_config
    quick = ["stage1.epochs=1", "stage1.rank=4", "candidates.k=2", "candidates.crossfit.held_out_folds=1"]
    quick += ["reranker.lists_per_epoch=16", "reranker.validate_facts=4", "reranker.text=false"]
    quick += ["candidates.extra_retrievers.text.epochs=1"]
    monkeypatch.setattr(cear.config, "load_config", lambda path, overrides=(): full(path, [*overrides, *quick]))
    monkeypatch.setenv("CEAR_CACHE", str(tmp_path / "cache"))
    done = cear_("demo", "--out", tmp_path / "demo")
    assert done.code == 0, done.err
    assert "MRR" in done.out
    assert "put first" in done.out, "what re-ranking changed is shown"
    assert "⟨?, capital of, Denmark⟩" in done.out
    served: list[tuple[Path, dict[str, Any]]] = []
    monkeypatch.setattr("cear.cli.demo.serve_folder", lambda *given: served.append(given))
    again = cear_("demo", "--out", tmp_path / "again", "--serve", "--port", 0)
    assert "0 of them made now" in again.out, "named data shares its steps"
    assert served == [(tmp_path / "again", {"port": 0})]
    assert (tmp_path / "again" / "proposals.parquet").exists(), "they wait for who reviews"


def test_end_to_end_in_a_process_of_its_own(place: Path, tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "cear"
    if not program.exists():
        pytest.skip("the package is not installed beside this Python")

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(program), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120)

    trained = call("run", place / "towns.yaml", "stage1.epochs=2", "--out", "runs/towns")
    assert trained.returncode == 0, trained.stderr
    assert "MRR" in trained.stdout
    measured = call("evaluate", "runs/towns", "--split", "test", "--json", "towns.json")
    assert measured.returncode == 0, measured.stderr
    record = json.loads((tmp_path / "towns.json").read_text())
    assert_shape(record, split="test", queries=24)
    assert record["provenance"]["command"] == "cear evaluate runs/towns --split test --json towns.json"
    wrong = call("ask", "runs/towns", "Town 7", "lives in")
    assert wrong.returncode == 2
    assert "Did you mean 'lies in'" in wrong.stderr
    assert "Traceback" not in wrong.stderr
