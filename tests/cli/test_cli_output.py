"""Results for programs and for people: JSON and CSV, to a file or to standard output; ids where names do not do."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from cear.cli import app
from cear.cli.ask import answer_table
from cear.core.errors import AmbiguousName, CearError, ConfigError
from cear.pipeline import Answer, open_run

CONFIG = "data: {data}\nstage1: {{rank: 4, batch: 60, epochs: 1}}\n"
QUESTION = ("Town 7", "twinned with")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> Path:
    """A run of one epoch on towns, two of which share a name; Country A is described, in several lines."""
    folder = tmp_path_factory.mktemp("namesakes")
    texts = write_towns(folder / "towns") / "entity2text.txt"
    texts.write_text(texts.read_text().replace("Town 3\n", "Town 4\n").replace("Country A", "Country A, a [big] one"))
    (folder / "towns.yaml").write_text(CONFIG.format(data=folder / "towns") + "text: name, description\n")
    result = CliRunner().invoke(app, ["run", str(folder / "towns.yaml"), "--out", str(folder / "run")])
    assert result.exit_code == 0, result.output
    return folder / "run"


def call(*arguments: object) -> Result:
    done = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done


def table_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


class TestAsk:
    def test_the_json_is_what_python_gets(self, run: Path) -> None:
        written = json.loads(call("ask", run, *QUESTION, "--k", 3, "--json", "-").stdout)
        assert written["question"] == {"subject": "t7", "relation": "twinned_with", "object": None}
        answers = open_run(run).ask("twinned with", subject="Town 7", k=3)
        assert [Answer(**each) for each in written["answers"]] == answers

    def test_the_question_may_ask_for_subjects(self, run: Path) -> None:
        written = json.loads(call("ask", run, "Country A", "lies in", "--object", "--json", "-").stdout)
        assert written["question"] == {"subject": None, "relation": "lies_in", "object": "c0"}

    def test_the_csv_has_a_row_for_each_answer(self, run: Path) -> None:
        rows = table_of(call("ask", run, *QUESTION, "--k", 3, "--csv", "-").stdout)
        answers = open_run(run).ask("twinned with", subject="Town 7", k=3)
        assert [(row["id"], int(row["rank"]), row["known"]) for row in rows] == [
            (answer.id, answer.rank, answer.known or "") for answer in answers
        ]
        scores = [None if row["score"] == "" else float(row["score"]) for row in rows]
        assert scores == [answer.score for answer in answers], "unrounded"

    def test_reasons_come_along(self, run: Path, tmp_path: Path) -> None:
        done = call("ask", run, *QUESTION, "--new", "--k", 7, "--why", "--json", tmp_path / "a.json", "--csv", "-")
        reasons = [each["why"] for each in json.loads((tmp_path / "a.json").read_text())["answers"]]
        assert all(reasons[:5])
        assert reasons[5:] == [None, None], "the first five are explained"
        assert [row["why"] or None for row in table_of(done.stdout)] == reasons

    def test_files_stand_beside_the_table(self, run: Path, tmp_path: Path) -> None:
        done = call("ask", run, *QUESTION, "--json", tmp_path / "a.json", "--csv", tmp_path / "a.csv")
        assert "⟨Town 7, twinned with, ?⟩" in done.stdout
        ids = [each["id"] for each in json.loads((tmp_path / "a.json").read_text())["answers"]]
        assert [row["id"] for row in table_of((tmp_path / "a.csv").read_text())] == ids
        assert {path.name for path in tmp_path.iterdir()} == {"a.json", "a.csv"}

    def test_both_cannot_be_standard_output(self, run: Path) -> None:
        done = CliRunner().invoke(app, ["ask", str(run), *QUESTION, "--json", "-", "--csv", "-"])
        assert isinstance(done.exception, ConfigError)
        assert done.stdout == ""

    def test_after_an_error_tables_are_shown_again(self, run: Path) -> None:
        CliRunner().invoke(app, ["ask", str(run), "Nobody", "lies in", "--json", "-"])
        assert "⟨Town 7, twinned with, ?⟩" in call("ask", run, *QUESTION).stdout


class TestDetails:
    def test_the_table_is_narrow_unless_names_do_not_do(self, run: Path) -> None:
        narrow = call("ask", run, "Town 7", "lies in", "--new", "--k", 1)
        assert " id " not in narrow.stdout
        assert " id " in call("ask", run, "Town 7", "lies in", "--new", "--k", 1, "--details").stdout

    def test_entities_of_one_name_are_told_apart_unasked(self, run: Path) -> None:
        shown = call("ask", run, "Town 7", "lies in", "--new", "--k", 30).stdout
        rows = [[cell.strip() for cell in line.split("│")] for line in shown.splitlines() if "Town 4" in line]
        apart = {row[3]: row[4] for row in rows}
        assert set(apart) == {"t3", "t4"}
        assert all(fact.startswith("⟨") and "Town 4" in fact for fact in apart.values()), "by a fact of each"
        assert apart["t3"] != apart["t4"]

    def test_a_question_about_one_of_them_lists_both(self, run: Path) -> None:
        done = CliRunner().invoke(app, ["ask", str(run), "town 4", "lies in"])
        assert isinstance(done.exception, AmbiguousName)
        assert {line.split()[0] for line in str(done.exception).splitlines()[1:]} == {"t3", "t4"}

    def test_descriptions_are_shown_where_there_are_any(self, run: Path) -> None:
        shown = call("ask", run, "Town 0", "lies in", "--k", 30, "--details").stdout
        assert next(line for line in shown.splitlines() if "Country A" in line).count("a [big] one") == 1

    def test_a_long_description_is_cut_between_words(self) -> None:
        console = Console(width=200, record=True, file=io.StringIO())
        told = Answer(1, 1, "Q1", "Paris", 0.5, None, description="the capital\nof France, " + 30 * "and more ")
        console.print(answer_table("⟨?⟩", [told], details=True))
        line = next(line for line in console.export_text().splitlines() if "Paris" in line)
        described = line.split("│")[4].strip()
        assert described.startswith("the capital of France, and more")
        assert described.endswith("…")
        assert len(described) <= 80


class TestEvaluate:
    def test_standard_output_is_the_record_alone(self, run: Path, tmp_path: Path) -> None:
        call("evaluate", run, "--json", tmp_path / "test.json")
        record = json.loads((tmp_path / "test.json").read_text())
        printed = json.loads(call("evaluate", run, "--json", "-").stdout)
        assert printed == {**without(record, "ranks"), "provenance": printed["provenance"]}
        assert (tmp_path / record["ranks"]).is_file()

    def test_the_csv_has_each_measure_with_its_interval(self, run: Path) -> None:
        rows = table_of(call("evaluate", run, "--split", "valid", "--csv", "-").stdout)
        evaluation = open_run(run).evaluate("valid")
        summary, intervals = evaluation.summary(), evaluation.intervals()
        assert len(rows) == 3 * 5
        for row in rows:
            assert row["stage"] == "1"
            assert float(row["value"]) == summary[row["side"]][row["measure"]]
            assert (float(row["low"]), float(row["high"])) == intervals[row["side"]][row["measure"]]

    def test_each_relation_has_its_figures(self, run: Path) -> None:
        rows = table_of(call("evaluate", run, "--per-relation", "-").stdout)
        assert list(rows[0]) == ["relation", "name", "side", "queries", "mrr", "hits@1", "hits@3", "hits@10"]
        both = [row for row in rows if row["side"] == "both"]
        assert ("lies_in", "lies in") in {(row["relation"], row["name"]) for row in both}
        evaluation = open_run(run).evaluate("test")
        assert sum(int(row["queries"]) for row in both) == len(evaluation.queries)
        mean = sum(int(row["queries"]) * float(row["mrr"]) for row in both) / len(evaluation.queries)
        assert mean == pytest.approx(evaluation.summary()["both"]["mrr"])

    @pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
    def test_predictions_can_be_measured_anew(self, run: Path, tmp_path: Path, suffix: str) -> None:
        file, separator = tmp_path / f"predictions.{suffix}", "\t" if suffix == "tsv" else ","
        call("evaluate", run, "--predictions", file, "--k", 1000)
        table = pl.read_parquet(file) if suffix == "parquet" else pl.read_csv(file, separator=separator)
        kb, evaluation = open_run(run).kb, open_run(run).evaluate("test")
        asked = zip(evaluation.queries.entity, evaluation.asked_relations, evaluation.asks_head, strict=True)
        for place, (entity, relation, head) in enumerate(asked):
            names = {"entity": kb.entities.id(entity), "relation": kb.relations.id(relation)}
            ranked = table.filter(side="head" if head else "tail", **names)
            assert ranked["rank"].to_list() == list(range(1, kb.n_entities + 1))
            gold = ranked["candidate"] == kb.entities.id(evaluation.gold[place])
            above = int((ranked["known"].is_null()[: gold.arg_max()]).sum())
            ranks = evaluation.ranks[[place]]
            assert ranks.above[0] <= above <= ranks.above[0] + ranks.tied[0], "the filtered rank"
            assert ranked.filter(gold)["known"].to_list() == ["test"]

    def test_predictions_go_as_deep_as_is_said(self, run: Path, tmp_path: Path) -> None:
        call("evaluate", run, "--predictions", tmp_path / "p.csv", "--k", 2)
        rows = table_of((tmp_path / "p.csv").read_text(encoding="utf-8"))
        assert {row["rank"] for row in rows} == {"1", "2"}
        assert rows[0]["candidate_name"]

    @pytest.mark.parametrize(("file", "told"), [("p.xls", r"Known: \.csv"), ("no/p.csv", "there is no folder")])
    def test_predictions_that_cannot_be_written_are_refused_first(self, file: str, told: str, tmp_path: Path) -> None:
        done = CliRunner().invoke(app, ["evaluate", "no run at all", "--predictions", str(tmp_path / file)])
        assert isinstance(done.exception, CearError)
        assert re.search(told, str(done.exception))


def without(values: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != key}


class TestDataCheck:
    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        folder = tmp_path / "kb"
        folder.mkdir()
        (folder / "train.txt").write_text('Zoë "Z", x\tr\tb\nb\tr\tc\n', encoding="utf-8")
        (folder / "test.txt").write_text('Zoë "Z", x\tr\tb\n', encoding="utf-8")
        return folder

    def test_json_to_standard_output_and_the_exit_code_stays(self, source: Path, tmp_path: Path) -> None:
        done, beside = (
            CliRunner().invoke(app, ["data", "check", str(source), "--json", to]) for to in ("-", f"{tmp_path}/f.json")
        )
        assert (done.exit_code, beside.exit_code) == (1, 1)
        assert json.loads(done.stdout) == json.loads((tmp_path / "f.json").read_text(encoding="utf-8"))
        assert done.stdout.isascii(), "safe in any encoding"

    def test_csv_has_a_finding_a_row(self, source: Path) -> None:
        done = CliRunner().invoke(app, ["data", "check", str(source), "--csv", "-"])
        shared = next(row for row in table_of(done.stdout) if row["topic"] == "shared-facts")
        assert (shared["severity"], shared["count"]) == ("error", "1")
        assert shared["examples"] == '⟨Zoë "Z", x, r, b⟩'

    def test_nothing_found_is_a_header_alone(self, tmp_path: Path) -> None:
        (tmp_path / "train.txt").write_text("a\tr\tb\nb\tr\tc\nc\tr\ta\n")
        (tmp_path / "valid.txt").write_text("a\tr\tc\n")
        (tmp_path / "test.txt").write_text("b\tr\ta\n")
        (tmp_path / "entity2text.txt").write_text("a\tAnna\nb\tBert\nc\tCarl\n")
        (tmp_path / "relation2text.txt").write_text("r\tlikes\n")
        assert call("data", "check", tmp_path, "--csv", "-").stdout == "topic,severity,message,count,examples\n"
