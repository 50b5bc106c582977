"""Decisions out of a run and into another, as a user types them; and completions that wait for a review."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from cear.cli import app
from cear.core.errors import DataError
from cear.serving import Decision, Decisions, read_log
from cear.serving.decisions import DECISIONS
from cear.serving.proposed import FILE, Sheet

ACCEPTED = Decision("p1", "speaks", "lang2", "accepted", who="ada", id="one", probability=0.75)
REJECTED = Decision("p2", "speaks", "lang3", "rejected", who="bob", id="two")


def cear(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def run(people_run: Any) -> Iterator[Path]:
    """The folder of a run, with nothing to review when the test begins and when it has ended."""
    yield people_run.folder
    for path in people_run.folder.glob("*decisions.sqlite*"):
        path.unlink()
    (people_run.folder / FILE).unlink(missing_ok=True)


@pytest.fixture
def decided(run: Path) -> Path:
    decisions = Decisions(run / DECISIONS)
    for each in (ACCEPTED, REJECTED):
        decisions.add(each)
    decisions.close()
    return run


def test_a_log_goes_from_one_run_to_another(decided: Path, tmp_path: Path) -> None:
    assert "2 decisions are in" in cear("decisions", "log", decided, "--out", tmp_path / "log.jsonl").output
    assert [each.id for each in read_log(tmp_path / "log.jsonl")] == ["one", "two"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "run.json").touch()
    for added in (2, 0):
        done = cear("decisions", "import", other, tmp_path / "log.jsonl", tmp_path / "log.jsonl")
        assert f"{added} of 4 decisions are new" in done.output


@pytest.mark.parametrize("ending", [".tsv", ".jsonl", ".parquet", ".nt", ".ttl"])
def test_accepted_facts_are_written(decided: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"accepted{ending}"
    done = cear("decisions", "export", decided, "--out", out)
    assert (done.exit_code, "1 accepted facts are in" in done.output) == (0, True), done.output
    assert b"lang2" in out.read_bytes()
    assert b"lang3" not in out.read_bytes()


def test_a_run_that_nobody_has_reviewed_says_so(run: Path, tmp_path: Path) -> None:
    done = cear("decisions", "log", run, "--out", tmp_path / "log.jsonl")
    assert isinstance(done.exception, DataError)
    assert "Nobody has decided anything" in str(done.exception)
    assert not (run / DECISIONS).exists()


def test_a_folder_without_a_run_is_told(tmp_path: Path) -> None:
    done = cear("decisions", "import", tmp_path, tmp_path / "log.jsonl")
    assert isinstance(done.exception, DataError)


def test_what_is_completed_waits_for_a_review(run: Path, people_run: Any, tmp_path: Path) -> None:
    done = cear("complete", run, "--min-probability", 0.3, "--relations", "speaks")
    assert done.exit_code == 0, done.exception
    assert "wait for review" in done.output
    speaks = len(Sheet.read(people_run))
    assert speaks > 0
    cear("complete", run, "--min-probability", 0.3, "--relations", "knows", "--out", tmp_path / "new.tsv")
    knows = pl.read_csv(tmp_path / "new.tsv", separator="\t", quote_char=None)
    assert len(Sheet.read(people_run)) == speaks + len(knows)
