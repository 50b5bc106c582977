"""The page on reviewing, from its first command to its last, on facts of people in place of the geography."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the service is an extra: pip install 'cear[serve]'")

from fastapi.testclient import TestClient
from pyoxigraph import RdfFormat, parse
from typer.testing import CliRunner

from cear.cli import app
from cear.data import load
from cear.serving.app import create_app
from cear.serving.decisions import Decisions
from cear.serving.desk import Desk
from cear.serving.settings import ServiceSettings

PAGE = (Path(__file__).parents[2] / "docs" / "review.md").read_text(encoding="utf-8")
SMALL = ["reranker=null", "refit=false", "threads=1"]
SMALL += ["stage1.rank=16", "stage1.batch=300", "stage1.epochs=6", "stage1.validate_every=3"]
SMALL += ["calibration.questions=1500", "calibration.proposals=5", "split.valid=0.15", "split.test=0.15"]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    return [shlex.split(line) for line in re.findall(r"^ {4}cear (.*)$", PAGE, re.MULTILINE)]


def cear(*arguments: str) -> str:
    """What a command of the page prints; a run is made small."""
    extra = SMALL if arguments[0] == "run" else []
    done = CliRunner().invoke(app, [*arguments, *extra])
    assert done.exit_code == 0, (arguments, done.output, done.exception)
    return done.output


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, people: SimpleNamespace, people_facts: dict[str, Any]
) -> Path:
    people.write_facts(tmp_path / "people", people_facts)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def review(snippet: str, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the program that reviews, with a service in this process."""
    desk = Desk.open(run, ServiceSettings())
    with TestClient(create_app(desk), base_url="http://127.0.0.1:8000") as client:
        monkeypatch.setattr("httpx.Client", lambda *, base_url, headers: _told(client, base_url, headers))
        exec(compile(snippet, "review.md", "exec"), {})


def _told(client: TestClient, base_url: str, headers: dict[str, str]) -> TestClient:
    assert base_url == "http://127.0.0.1:8000"
    client.headers.update(headers)
    return client


def test_the_way_from_turtle_to_accepted_facts_and_back(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, reviewing = blocks("python")
    exec(compile(written.replace('"demo"', '"people"'), "review.md", "exec"), {})
    check, run, complete, serve, *take, again, bring, judge = commands()
    for each in (check, run, complete):
        cear(*each)
    assert serve == ["serve", "runs/mine"]
    # So small a run is sure of nothing: here the first twelve are right.
    surest = reviewing.replace('each["probability"] > 0.5', 'each["place"] < 12').replace("0.2", "0.1")
    review(surest, here / "runs" / "mine", monkeypatch)
    for each in take:
        cear(*each)

    decisions = Decisions(here / "runs" / "mine" / "decisions.sqlite")
    verdicts = [each.verdict for each in decisions.log()]
    decisions.close()
    accepted: Any = [*parse(path=here / "accepted.nt", format=RdfFormat.N_TRIPLES)]
    assert len(accepted) == verdicts.count("accepted") == 12
    assert verdicts.count("rejected") >= 10

    (joined,) = blocks("sh")
    subprocess.run(joined, shell=True, check=True, cwd=here)
    before, after = (sum(len(load(name).facts(split)) for split in ("train", "valid", "test")) for name in KBS)
    assert after == before + len(accepted)

    cear(*again)
    assert f"{len(verdicts)} of {len(verdicts)} decisions are new" in cear(*bring)
    assert f"0 of {len(verdicts)} decisions are new" in cear(*bring)

    first = accepted[0]
    (here / "facts.tsv").write_text("\t".join(part.value for part in (first.subject, first.predicate, first.object)))
    assert re.search(r"[01]\.\d{3}", cear(*judge))


KBS = ("kb.ttl", "kb-2.ttl")


def test_the_turtle_on_the_page_is_what_is_written() -> None:
    (turtle,) = blocks("turtle")
    said: Any = [*parse(turtle, format=RdfFormat.TURTLE)]
    predicates = {each.predicate.value.rpartition("#")[2] for each in said if "example.org" not in each.predicate.value}
    assert predicates == {"type", "reifies", "probability", "wasAttributedTo", "wasDerivedFrom", "generatedAtTime"}
