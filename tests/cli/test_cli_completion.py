"""complete, judge, audit and ask with probabilities, as a user types them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from cear.cli import main
from cear.config import RunConfig
from cear.pipeline import Run, run

HEADER = "subject relation object subject_name relation_name object_name probability rank stage1_rank score"
HEADER += " stage1_score known reasons"


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Cear = Callable[..., Done]


@pytest.fixture
def cear_(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cear:
    """Runs the program in this process, in a terminal so wide that no line is broken."""
    monkeypatch.setenv("COLUMNS", "400")

    def call(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["cear", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Done(int(ended.value.code or 0), captured.out, captured.err)

    return call


def read(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, separator="\t", quote_char=None)


class TestComplete:
    def test_it_writes_a_table_with_the_promised_header(self, people_run: Run, cear_: Cear, tmp_path: Path) -> None:
        done = cear_("complete", people_run.folder, "--out", tmp_path / "new.tsv")
        assert done.code == 0, done.err
        table = read(tmp_path / "new.tsv")
        assert table.columns == HEADER.split()
        assert len(table) == len(people_run.complete().table)
        assert table["probability"].min() >= 0.05  # type: ignore[operator]
        assert f"{len(table):,} proposals are in" in done.out

    def test_relations_subjects_and_least_probability(self, people_run: Run, cear_: Cear, tmp_path: Path) -> None:
        out = tmp_path / "new.tsv"
        asked = ["--relations", "speaks", "--relations", "born_in", "--min-probability", 0.3]
        assert cear_("complete", people_run.folder, "--out", out, *asked).code == 0
        assert set(read(out)["relation"]) == {"speaks", "born_in"}
        assert read(out)["probability"].min() >= 0.3  # type: ignore[operator]
        asked = ["--subjects", "Person 7", "--subjects", "p9", "--min-probability", 0]
        assert cear_("complete", people_run.folder, "--out", out, *asked).code == 0
        assert set(read(out)["subject"]) == {"p7", "p9"}

    def test_a_promise_is_told(self, people_run: Run, cear_: Cear, tmp_path: Path) -> None:
        out = tmp_path / "new.tsv"
        done = cear_("complete", people_run.folder, "--out", out, "--max-false", 0.5)
        assert f"With 95% confidence at most 50% of these {len(read(out)):,} are false" in done.out

    def test_that_nothing_can_be_promised_is_told(self, people_run: Run, cear_: Cear, tmp_path: Path) -> None:
        done = cear_("complete", people_run.folder, "--out", tmp_path / "new.tsv", "--max-false", 0)
        assert done.code == 0
        assert "No threshold can be promised" in done.out
        assert (tmp_path / "new.tsv").read_text().split() == HEADER.split(), "a header and nothing else"

    @pytest.mark.parametrize("wrong", [("--min-probability", 1.5), ("--max-false", -0.1)], ids=str)
    def test_what_is_no_share_is_refused(
        self, people_run: Run, cear_: Cear, tmp_path: Path, wrong: tuple[str, float]
    ) -> None:
        done = cear_("complete", people_run.folder, "--out", tmp_path / "new.tsv", *wrong)
        assert done.code == 2
        assert wrong[0] in done.err
        assert not (tmp_path / "new.tsv").exists()

    def test_an_unknown_format_is_refused_at_once(self, cear_: Cear, tmp_path: Path) -> None:
        done = cear_("complete", tmp_path / "no run", "--out", tmp_path / "new.xlsx")
        assert done.code == 2
        assert "says no format of proposals" in done.err


class TestJudge:
    def test_one_row_for_each_line_in_their_order(self, people_run: Run, cear_: Cear, tmp_path: Path) -> None:
        lines = ["p7\tborn_in\tcity3", "Nobody\tborn_in\tcity3", "Person 7\tborn_in\tcity3"]
        (tmp_path / "given.tsv").write_text("\n".join(lines) + "\n")
        done = cear_("judge", people_run.folder, tmp_path / "given.tsv", "--out", tmp_path / "judged.tsv")
        assert done.code == 0, done.err
        table = read(tmp_path / "judged.tsv")
        assert table.columns == [*HEADER.split(), "note"]
        assert table["subject"].to_list() == ["p7", "Nobody", "p7"]
        assert table["probability"][0] == table["probability"][2]
        assert [note is None for note in table["note"]] == [True, False, True]
        assert "3 facts are judged in" in done.out

    def test_a_header_is_no_fact(self, people_run: Run, cear_: Cear, tmp_path: Path) -> None:
        (tmp_path / "given.csv").write_text("object,subject,relation\ncity3,p7,born_in\n")
        done = cear_("judge", people_run.folder, tmp_path / "given.csv", "--out", tmp_path / "judged.tsv")
        assert done.code == 0, done.err
        assert read(tmp_path / "judged.tsv").select("subject", "relation", "object").rows() == [
            ("p7", "born_in", "city3")
        ]

    def test_a_line_of_another_width_is_told(self, people_run: Run, cear_: Cear, tmp_path: Path) -> None:
        (tmp_path / "given.tsv").write_text("p7\tborn_in\tcity3\np7\tborn_in\n")
        done = cear_("judge", people_run.folder, tmp_path / "given.tsv")
        assert done.code == 2
        assert "given.tsv:2: found 2 columns" in done.err

    def test_a_file_that_is_not_there_is_told(self, people_run: Run, cear_: Cear, tmp_path: Path) -> None:
        done = cear_("judge", people_run.folder, tmp_path / "given.tsv")
        assert done.code == 2
        assert "There is no file" in done.err


class TestAudit:
    def test_the_least_likely_facts_with_what_contradicts_them(
        self, people_run: Run, cear_: Cear, tmp_path: Path
    ) -> None:
        done = cear_("audit", people_run.folder, "--most", 7, "--out", tmp_path / "wrong.tsv")
        assert done.code == 0, done.err
        table = read(tmp_path / "wrong.tsv")
        assert len(table) == 7
        assert table.columns == [*HEADER.split(), "instead", "contradicts"]
        assert set(table["known"]) == {"train"}
        assert "Facts that look wrong" in done.out


class TestProbabilitiesAreShown:
    def test_ask_shows_them_on_a_calibrated_run(self, people_run: Run, cear_: Cear) -> None:
        done = cear_("ask", people_run.folder, "p7", "speaks")
        best = next(each for each in people_run.ask("speaks", subject="p7") if each.rank)
        assert "probability" in done.out
        assert "score" not in done.out
        assert f"{best.probability:.3f}" in done.out

    def test_and_scores_on_another(self, people_run: Run, cear_: Cear, tmp_path: Path) -> None:
        config = RunConfig.model_validate(people_run.config.model_dump() | {"calibration": None, "refit": False})
        run(config, tmp_path, store=people_run.plan.store.folder)
        done = cear_("ask", tmp_path, "p7", "speaks")
        assert done.code == 0, done.err
        assert "score" in done.out
        assert "probability" not in done.out

    def test_evaluate_measures_the_completion_too(self, people_run: Run, cear_: Cear, tmp_path: Path) -> None:
        done = cear_("evaluate", people_run.folder, "--json", tmp_path / "test.json")
        assert done.code == 0, done.err
        assert "Completion, test facts hidden" in done.out
        assert "Stage 2's score" in done.out
        record = json.loads((tmp_path / "test.json").read_text())
        assert record["completion"]["hidden"] == len(people_run.kb.facts("test"))

    def test_on_valid_there_is_none_to_measure(self, people_run: Run, cear_: Cear) -> None:
        assert "Completion" not in cear_("evaluate", people_run.folder, "--split", "valid").out
