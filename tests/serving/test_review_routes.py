"""Reviewing over HTTP: decisions on disk, conflicts told, logs that travel, and what a run is worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the service is an extra: pip install 'cear[serve]'")

from fastapi.testclient import TestClient

from cear.serving.app import create_app
from cear.serving.desk import Desk
from cear.serving.entities import Entities

CHANGES = {"X-Cear": "1"}


@pytest.fixture(scope="module")
def completed(people_run: Any) -> Any:
    return people_run.complete(min_probability=0.1)


@pytest.fixture
def client(desk: Desk, completed: Any) -> Iterator[TestClient]:
    desk.queue.add(completed)
    with TestClient(create_app(desk), base_url="http://127.0.0.1:8000", headers=CHANGES) as client:
        yield client


def fact_of(proposal: dict[str, Any]) -> dict[str, str]:
    return {end: proposal[end]["id"] for end in ("subject", "relation", "object")}


def proposals(client: TestClient, **wanted: Any) -> list[dict[str, Any]]:
    answer = client.get("/proposals", params=wanted)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["proposals"]
    return found


def decide(client: TestClient, proposal: dict[str, Any], verdict: str = "accepted", **other: Any) -> Any:
    return client.post("/decisions", json=fact_of(proposal) | {"verdict": verdict, "who": "ada"} | other)


class TestProposals:
    def test_they_come_with_names_and_probabilities(self, client: TestClient, completed: Any) -> None:
        first, *_ = proposals(client, limit=3)
        row = completed.table.row(0, named=True)
        assert first["subject"] == {"id": row["subject"], "name": row["subject_name"]}
        assert (first["probability"], first["rank"]) == (row["probability"], row["rank"])
        assert (first["state"], first["decision"], first["place"]) == ("open", None, 0)

    def test_a_run_without_a_completion_says_how_to_make_one(self, desk: Desk) -> None:
        with TestClient(create_app(desk), base_url="http://127.0.0.1:8000") as client:
            said = client.get("/proposals").json()
        assert said["total"] == 0
        assert "cear complete" in said["note"]

    @pytest.mark.parametrize("wanted", [{"limit": 0}, {"min_probability": 2}, {"order": "x"}, {"after": 2**64}])
    def test_what_makes_no_sense_is_refused(self, client: TestClient, wanted: dict[str, Any]) -> None:
        answer = client.get("/proposals", params=wanted)
        assert answer.status_code == 422
        assert answer.json().keys() == {"error"}

    def test_an_unknown_relation_is_not_found(self, client: TestClient) -> None:
        assert client.get("/proposals", params={"relation": "nowhere"}).status_code == 404


class TestDecisions:
    def test_one_has_the_promise_and_the_run_and_moves_its_proposal(self, client: TestClient, desk: Desk) -> None:
        first, second, *_ = proposals(client)
        kept = decide(client, first, note="sure")
        assert kept.status_code == 201
        assert kept.json() | {"probability": first["probability"], "run": desk.run.folder.name} == kept.json()
        assert fact_of(proposals(client)[0]) == fact_of(second)
        assert proposals(client, state="accepted")[0]["decision"] == kept.json()

    def test_a_second_person_gets_the_first_decision(self, client: TestClient) -> None:
        first = proposals(client)[0]
        kept = decide(client, first).json()
        late = decide(client, first, "rejected", who="bob")
        assert late.status_code == 409
        assert late.json()["decision"] == kept
        assert decide(client, first, "undone", seen=kept["number"]).status_code == 201

    def test_sent_again_it_is_kept_once(self, client: TestClient) -> None:
        first = proposals(client)[0]
        one, again = (decide(client, first, id="same") for _ in range(2))
        assert one.json() == again.json()
        assert len(client.get("/decisions").text.splitlines()) == 1

    @pytest.mark.parametrize(
        ("wrong", "status"),
        [
            ({"verdict": "perhaps"}, 422),
            ({"subject": "nobody"}, 404),
            ({"seen": -1}, 422),
            ({"probability": 1}, 422),
            ({"note": "x" * 5000}, 422),
        ],
    )
    def test_what_is_no_decision_is_refused(self, client: TestClient, wrong: dict[str, Any], status: int) -> None:
        answer = decide(client, proposals(client)[0], **wrong)
        assert (answer.status_code, answer.json().keys()) == (status, {"error"})
        assert client.get("/decisions").text == ""

    def test_half_a_character_is_refused(self, client: TestClient) -> None:
        fact = fact_of(proposals(client)[0])
        body = '{"verdict": "accepted", "note": "\\ud800", ' + ", ".join(f'"{k}": "{v}"' for k, v in fact.items()) + "}"
        answer = client.post("/decisions", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 422

    def test_the_summary_counts_them(self, client: TestClient) -> None:
        one, other, *_ = found = proposals(client, limit=500)
        decide(client, one)
        decide(client, other, "rejected")
        said = client.get("/decisions/summary").json()
        assert (said["accepted"], said["rejected"], said["open"]) == (1, 1, len(found) - 2)
        assert said["promised"] == pytest.approx(one["probability"] + other["probability"])
        assert sum(each["count"] for each in said["reliability"]) == 2
        assert said["reliability"][0].keys() >= {"from", "to", "said", "came_true", "low", "high"}


class TestTakingHome:
    def test_a_log_travels_to_another_desk(self, client: TestClient, people_run: Any, tmp_path: Path) -> None:
        first, second, *_ = proposals(client)
        decide(client, first)
        decide(client, second, "rejected")
        log = client.get("/decisions")
        assert log.headers["content-type"].startswith("application/x-ndjson")
        (tmp_path / "other").mkdir()
        other = Desk.of(replace(people_run, folder=tmp_path / "other"))
        kind = {"Content-Type": "application/x-ndjson"}
        with TestClient(create_app(other), base_url="http://127.0.0.1:8000", headers=CHANGES) as there:
            added = [there.post("/decisions/import", content=log.content, headers=kind).json() for _ in range(2)]
            assert there.get("/decisions").text == log.text
        assert added == [{"added": 2, "read": 2}, {"added": 0, "read": 2}]

    def test_a_log_that_is_none_is_told(self, client: TestClient) -> None:
        kind = {"Content-Type": "application/x-ndjson"}
        answer = client.post("/decisions/import", content=b'{"subject": 1}\n', headers=kind)
        assert answer.status_code == 400
        assert "line 1 is no decision" in answer.json()["error"]

    @pytest.mark.parametrize(
        ("format", "kind"),
        [
            ("tsv", "text/tab-separated-values"),
            ("nt", "application/n-triples"),
            ("rdf12", "text/turtle"),
            ("jsonl", "application/x-ndjson"),
        ],
    )
    def test_accepted_facts_are_files(self, client: TestClient, format: str, kind: str) -> None:
        first = proposals(client)[0]
        decide(client, first)
        answer = client.get("/export", params={"format": format})
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["content-disposition"].startswith('attachment; filename="accepted.')
        assert first["subject"]["id"] in answer.text


class TestAnEntity:
    def test_it_has_facts_both_ways_and_what_is_likely(self, client: TestClient, people_run: Any) -> None:
        wanted = next(each for each in proposals(client) if each["object"]["id"].startswith("land"))["object"]["id"]
        page = client.get(f"/entities/{wanted}").json()
        number, kb = people_run.kb.entities.by_id[wanted], people_run.kb
        expected = sum(
            int((kb.facts(split)[:, [0, 2]] == number).any(axis=1).sum()) for split in ("train", "valid", "test")
        )
        assert page["entity"]["id"] == wanted
        assert page["total"] == expected
        assert all(wanted in (each["subject"]["id"], each["object"]["id"]) for each in page["facts"] + page["likely"])
        assert page["likely"]

    def test_no_audit_is_no_answer_and_not_none_doubtful(self, client: TestClient) -> None:
        assert client.get("/entities/p7").json()["doubtful"] is None

    def test_one_that_nobody_knows_is_not_found(self, client: TestClient) -> None:
        answer = client.get("/entities//m/0 x")
        assert answer.status_code == 404
        assert "'/m/0 x'" in answer.json()["error"]


class TestTrust:
    def test_what_was_not_measured_is_said(self, client: TestClient, people_run: Any, tmp_path: Path) -> None:
        said = client.get("/trust").json()
        assert said["data"]["facts"]["train"] == len(people_run.kb.facts("train"))
        assert said["seconds"] == pytest.approx(sum(each["seconds"] for each in said["steps"]))
        assert str(tmp_path) not in str(said)

    def test_what_was_measured_has_intervals(self, client: TestClient, people_run: Any) -> None:
        evaluation = people_run.evaluate("test")
        said = client.get("/trust").json()
        mrr = {each["stage"]: each for each in said["figures"] if (each["side"], each["measure"]) == ("both", "mrr")}
        assert mrr[2]["value"] == evaluation.summary()["both"]["mrr"]
        assert mrr[2]["low"] < mrr[2]["value"] < mrr[2]["high"]
        assert mrr[1]["value"] == evaluation.before.summary()["both"]["mrr"]
        assert sum(each["queries"] for each in said["relations"]) == said["queries"]
        assert said["calibration_error"] == people_run.evaluate_completion().calibration.ece
        assert said["note"] == ""


def test_facts_that_an_audit_doubts_are_told_the_least_likely_first(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = desk.run.kb
    number, train = kb.entities.by_id["p7"], kb.facts("train")
    is_mine = (train[:, [0, 2]] == number).any(axis=1)
    mine, others = train[is_mine][:3], train[~is_mine][:397]
    facts, probability = np.concatenate([mine, others]), np.full(400, 0.3)
    probability[:3] = (0.04, 0.9, 0.01)  # of 400 facts these two are among the least likely hundredth
    audit = SimpleNamespace(proposals=SimpleNamespace(facts=facts), probability=probability)
    monkeypatch.setattr("cear.serving.entities.kept_audit", lambda _: audit)
    doubtful = Entities(desk.run, desk.queue).page("p7").doubtful
    assert doubtful is not None
    assert [each.probability for each in doubtful] == [0.01, 0.04]
    assert doubtful[0].relation.id == kb.relations.id(mine[2][1])
