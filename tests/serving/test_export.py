"""Taking home: accepted facts in every format, with who accepted them and when, and the log for another run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from pyoxigraph import Literal, NamedNode, RdfFormat, Store, Triple, parse

from cear.data import KnowledgeBase, read_judged
from cear.serving.decisions import Decision, Decisions, write_log
from cear.serving.taking_home import Format, accepted_bytes, accepted_table, write_accepted_facts

CEAR, PROV, RDF = "https://w3id.org/cear#", "http://www.w3.org/ns/prov#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NASTY = "<script>alert(1)</script>\tשלום \u202e 👩‍🚀\n"


@pytest.fixture
def run(tmp_path: Path, towns: KnowledgeBase) -> Any:
    return SimpleNamespace(folder=tmp_path / "mine", kb=towns)


@pytest.fixture
def decisions(tmp_path: Path) -> Iterator[Decisions]:
    """t0 lies in c1 (accepted by ada), t1 in c2 (rejected), t2 in c3 (accepted, then undone), t3 in c4 (skipped)."""
    opened = Decisions(tmp_path / "decisions.sqlite")
    opened.add(
        Decision("t0", "lies_in", "c1", "accepted", "ada", NASTY, 0.75, "mine", "2026-03-01T12:00:00+00:00", "d1")
    )
    opened.add(Decision("t1", "lies_in", "c2", "rejected", "ada"))
    kept = opened.add(Decision("t2", "lies_in", "c3", "accepted", "bob"))
    opened.add(Decision("t2", "lies_in", "c3", "undone", "bob"), seen=kept.number)
    opened.add(Decision("t3", "lies_in", "c4", "skipped"))
    yield opened
    opened.close()


def test_only_what_was_accepted_last_is_taken_home(run: Any, decisions: Decisions) -> None:
    (row,) = accepted_table(run.kb, decisions).iter_rows(named=True)
    assert (row["subject"], row["object_name"], row["probability"]) == ("t0", "Country B", 0.75)
    assert (row["who"], row["run"], row["at"]) == ("ada", "mine", "2026-03-01T12:00:00+00:00")


def test_a_table_keeps_what_people_wrote(run: Any, decisions: Decisions, tmp_path: Path) -> None:
    assert write_accepted_facts(tmp_path / "accepted.tsv", run, decisions) == 1
    table = pl.read_csv(tmp_path / "accepted.tsv", separator="\t", quote_char=None, infer_schema=False)
    assert table.row(0, named=True)["note"] == NASTY.replace("\t", "\\t").replace("\n", "\\n")


def test_a_line_of_json_is_a_fact(run: Any, decisions: Decisions) -> None:
    (line,) = accepted_bytes(run, decisions, "jsonl").splitlines()
    assert json.loads(line) | {"note": NASTY, "relation_name": "lies in"} == json.loads(line)


def test_n_triples_are_the_facts_and_nothing_else(run: Any, decisions: Decisions) -> None:
    assert accepted_bytes(run, decisions, "nt").decode() == (
        "<urn:cear:entity:t0> <urn:cear:relation:lies_in> <urn:cear:entity:c1> .\n"
    )


def test_rdf_says_who_when_which_run_and_how_likely(run: Any, decisions: Decisions) -> None:
    store = Store()
    store.load(accepted_bytes(run, decisions, "rdf12"), format=RdfFormat.TURTLE)
    node = NamedNode("urn:cear:decision:d1")
    said: Any = store.quads_for_pattern(node, None, None, None)
    fact = Triple(*(NamedNode(f"urn:cear:{each}") for each in ("entity:t0", "relation:lies_in", "entity:c1")))
    moment = Literal("2026-03-01T12:00:00Z", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#dateTime"))
    assert {quad.predicate.value: quad.object for quad in said} == {
        f"{RDF}type": NamedNode(f"{CEAR}AcceptedFact"),
        f"{RDF}reifies": fact,
        f"{CEAR}probability": Literal(0.75),
        f"{PROV}wasAttributedTo": NamedNode("urn:cear:person:ada"),
        f"{PROV}wasDerivedFrom": NamedNode("urn:cear:run:mine"),
        f"{PROV}generatedAtTime": moment,
        "http://www.w3.org/2000/01/rdf-schema#comment": Literal(NASTY),
    }
    asserted: Any = store.quads_for_pattern(fact.subject, fact.predicate, fact.object, None)
    assert len([*asserted]) == 1


@pytest.mark.parametrize("format", ["tsv", "nt", "rdf12", "jsonl"])
def test_nothing_accepted_is_a_file_without_facts(run: Any, format: Format, tmp_path: Path) -> None:
    empty = Decisions(tmp_path / "empty.sqlite")
    written = accepted_bytes(run, empty, format)
    empty.close()
    kinds = {"nt": RdfFormat.N_TRIPLES, "rdf12": RdfFormat.TURTLE}
    if format in kinds:
        triples: Any = parse(written, format=kinds[format])
        assert [each for each in triples if each.predicate.value.startswith("urn:")] == []
    else:
        assert len(written.splitlines()) == (1 if format == "tsv" else 0)


def test_a_decision_of_another_run_about_something_unknown_has_no_names(run: Any, decisions: Decisions) -> None:
    decisions.merge([Decision("elsewhere", "lies_in", "c1", "accepted", at="2026-01-01", id="x")])
    table = accepted_table(run.kb, decisions)
    assert table["subject_name"].to_list() == ["Town 0", None]
    assert b"urn:cear:entity:elsewhere" in accepted_bytes(run, decisions, "rdf12")


def test_the_log_is_read_as_judged_facts(decisions: Decisions, towns: KnowledgeBase, tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", decisions.log())
    judged = read_judged(tmp_path / "log.jsonl", towns)
    assert (judged.facts.tolist(), judged.truth.tolist()) == ([[0, 0, 26], [1, 0, 27]], [True, False])
