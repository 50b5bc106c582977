"""Proposals in files: every format gives back what it was given, and RDF says proposals without asserting them."""

from __future__ import annotations

import json
import re
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from pyoxigraph import Literal, NamedNode, RdfFormat, Store, Triple

from cear.completion.export import FORMATS, About, write_table
from cear.completion.export.iris import id_of, iri_of
from cear.core.errors import CearError, ConfigError, DataError

PAGE = (Path(__file__).parents[2] / "docs" / "proposals.md").read_text(encoding="utf-8")
ABOUT = About("runs/geo", "9f86d081", "1.0", datetime(2026, 3, 1, 12, tzinfo=UTC), "Not refitted; figures of test.")
KINDS = {".nt": RdfFormat.N_TRIPLES, ".ttl": RdfFormat.TURTLE}
CEAR, RDFS = "https://w3id.org/cear#", "http://www.w3.org/2000/01/rdf-schema#"

NASTY = [
    "a\ttab",
    'a "quote"',
    "an astronaut 👩‍🚀",
    "שלום \u202e right to left",
    "two\nlines\r\n",
    "<script>alert(1)</script>",
    "a back\\slash, \\t and \\e",
    "",
]
TEXT = ["subject", "relation", "object", "subject_name", "relation_name", "object_name"]
TYPES = dict.fromkeys(TEXT, pl.String) | {
    "probability": pl.Float64,
    "rank": pl.Int64,
    "stage1_rank": pl.Int64,
    "score": pl.Float64,
    "stage1_score": pl.Float64,
    "known": pl.String,
    "reasons": pl.String,
}


def proposals(*rows: dict[str, Any]) -> pl.DataFrame:
    """A table of proposals; what a row does not say is null, and its relation is `r`."""
    return pl.DataFrame([{"relation": "r"} | row for row in rows], schema=TYPES)


def nasty() -> pl.DataFrame:
    """A table with every name above, also as reasons; the objects are named by nobody."""
    rows = [
        {"subject": f"s{i}", "object": f"o{i}", "subject_name": name, "reasons": name, "probability": 1 / (3 + i)}
        for i, name in enumerate(NASTY)
    ]
    return proposals(*rows, {"subject": "nothing", "object": "known", "rank": 3, "score": -1e-300})


def block(language: str, number: int = 0) -> str:
    """A block of code on the page."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[number]


def loaded(path: Path) -> Store:
    store = Store()
    store.load(path=path, format=KINDS[path.suffix])
    return store


def said(store: Store, property_: str) -> dict[str, str]:
    """What subjects say with a property; subjects are known by their ids."""
    found: Any = store.quads_for_pattern(None, NamedNode(property_), None, None)
    return {id_of(quad.subject.value): quad.object.value for quad in found}


def reified(store: Store) -> dict[tuple[str, str, str], NamedNode]:
    """The ids of each fact that is proposed, and its proposal."""
    found: Any = store.quads_for_pattern(
        None, NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies"), None, None
    )
    return {tuple(id_of(part.value) for part in list(quad.object)): quad.subject for quad in found}


def read_by_the_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    """`proposals.tsv` as the code on the page reads it."""
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(block("python"), names)
    table: pl.DataFrame = names["table"]
    return table


class TestTables:
    def test_a_table_comes_back_by_the_rule_on_the_page(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_table(tmp_path / "proposals.tsv", nasty(), ABOUT)
        back = read_by_the_page(tmp_path, monkeypatch)
        assert_frame_equal(back.cast(TYPES), nasty())

    def test_a_row_is_a_line_and_a_null_is_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "p.tsv"
        row = {"subject": "a\tb", "object": "\\", "object_name": "", "probability": 1 / 3, "rank": 2, "reasons": "so"}
        write_table(path, proposals(row), ABOUT)
        _, line, end = path.read_bytes().decode().split("\n")
        assert line.split("\t") == [*(r"a\tb", "r", r"\\", "", "", r"\e"), "0.3333333333333333", "2", *[""] * 4, "so"]
        assert end == ""

    def test_a_table_without_rows_has_its_header(self, tmp_path: Path) -> None:
        write_table(tmp_path / "none.tsv", proposals(), ABOUT)
        assert (tmp_path / "none.tsv").read_text() == "\t".join(TYPES) + "\n"

    def test_further_columns_are_carried_along_and_nested_ones_are_json(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        more = pl.DataFrame({"rules": [[{"body": 'a "b"\t', "hits": 2}], None], "kind\t": ["x\n", "y"]})
        table = pl.concat([nasty().head(2), more.cast({"kind\t": pl.Categorical})], how="horizontal")
        write_table(tmp_path / "proposals.tsv", table, ABOUT)
        assert "kind\\t" in (tmp_path / "proposals.tsv").read_text().split("\n")[0]
        back = read_by_the_page(tmp_path, monkeypatch)
        assert [rules and json.loads(rules) for rules in back["rules"]] == more["rules"].to_list()
        assert back.to_series(-1).to_list() == ["x\n", "y"]


class TestJsonLines:
    def test_a_line_is_an_object_with_all_columns(self, tmp_path: Path) -> None:
        write_table(tmp_path / "p.jsonl", nasty(), ABOUT)
        lines = (tmp_path / "p.jsonl").read_bytes().decode().split("\n")[:-1]
        assert [json.loads(line) for line in lines] == nasty().to_dicts()

    def test_reasons_may_be_nested(self, tmp_path: Path) -> None:
        reasons = {"sentence": "A rule says so.", "rules": ["capital_of ⇒ lies_in"]}
        table = nasty().head(1).with_columns(reasons=pl.Series([reasons]))
        write_table(tmp_path / "p.jsonl", table, ABOUT)
        assert json.loads((tmp_path / "p.jsonl").read_text())["reasons"] == reasons


def test_parquet_comes_back_and_says_where_it_comes_from(tmp_path: Path) -> None:
    write_table(tmp_path / "p.parquet", nasty(), ABOUT)
    assert_frame_equal(pl.read_parquet(tmp_path / "p.parquet"), nasty())
    about = json.loads(pl.read_parquet_metadata(tmp_path / "p.parquet")["about"])
    assert about == {
        "run": "runs/geo",
        "digest": "9f86d081",
        "version": "1.0",
        "made": "2026-03-01T12:00:00+00:00",
        "note": "Not refitted; figures of test.",
        "started": None,
    }


@pytest.mark.parametrize("suffix", KINDS)
class TestRdf:
    def test_names_reasons_and_figures_come_back(self, tmp_path: Path, suffix: str) -> None:
        write_table(tmp_path / f"p{suffix}", nasty(), ABOUT)
        store = loaded(tmp_path / f"p{suffix}")
        labels = said(store, RDFS + "label")
        assert [labels[f"s{i}"] for i in range(len(NASTY))] == NASTY
        nodes = reified(store)
        assert set(nodes) == set(nasty().select("subject", "relation", "object").iter_rows())
        comments, probabilities = said(store, RDFS + "comment"), said(store, CEAR + "probability")
        for i, name in enumerate(NASTY):
            node = id_of(nodes[f"s{i}", "r", f"o{i}"].value)
            assert (comments[node], float(probabilities[node])) == (name, 1 / (3 + i))
        last = id_of(nodes["nothing", "r", "known"].value)
        assert said(store, CEAR + "rank") == {last: "3"}
        assert {node: float(score) for node, score in said(store, CEAR + "score").items()} == {last: -1e-300}
        assert last not in probabilities

    def test_a_query_finds_what_is_likely_and_its_run(self, tmp_path: Path, suffix: str) -> None:
        rows = [{"subject": s, "object": "o", "probability": p} for s, p in (("a", 0.5), ("b", 0.75), ("c", 0.9))]
        write_table(tmp_path / f"p{suffix}", proposals(*rows, {"subject": "d", "object": "o"}), ABOUT)
        found: Any = loaded(tmp_path / f"p{suffix}").query(block("sparql"))
        assert [(id_of(row["subject"].value), row["probability"], row["run"].value) for row in found] == [
            ("c", Literal(0.9), "runs/geo"),
            ("b", Literal(0.75), "runs/geo"),
        ]

    def test_no_proposal_is_asserted_until_somebody_accepts_it(self, tmp_path: Path, suffix: str) -> None:
        table = proposals(*({"subject": s, "object": "o", "probability": p} for s, p in (("a", 0.95), ("b", 0.5))))
        write_table(tmp_path / f"p{suffix}", table, ABOUT)
        store = loaded(tmp_path / f"p{suffix}")
        facts = [Triple(iri_of(s, "entity"), iri_of("r", "relation"), iri_of("o", "entity")) for s in "ab"]
        assert len(reified(store)) == 2
        assert not {quad.triple for quad in store} & {*facts}
        store.update(block("sparql", 1))
        assert {quad.triple for quad in store} & {*facts} == {facts[0]}

    def test_two_completions_in_one_store_stay_apart(self, tmp_path: Path, suffix: str) -> None:
        table = proposals({"subject": "a", "object": "b", "probability": 0.75})
        another = About("runs/other", "9f86d081", "1.0", ABOUT.made)
        store = Store()
        for name, about in (("p", ABOUT), ("again", ABOUT), ("q", another)):
            write_table(tmp_path / f"{name}{suffix}", table, about)
            store.load(path=tmp_path / f"{name}{suffix}", format=KINDS[suffix])
        found: Any = store.query(block("sparql"))
        assert sorted(row["run"].value for row in found) == ["runs/geo", "runs/other"]

    def test_the_completion_says_when_with_what_and_by_whom(self, tmp_path: Path, suffix: str) -> None:
        about = About("http://runs/1", "d", "1.0 of today", ABOUT.made, started=datetime(2026, 3, 1, 11, 30))
        write_table(tmp_path / f"p{suffix}", proposals({"subject": "a", "object": "b"}), about)
        store = loaded(tmp_path / f"p{suffix}")
        prov, completion = "http://www.w3.org/ns/prov#", about.key
        assert said(store, prov + "startedAtTime") == {completion: "2026-03-01T11:30:00"}
        assert said(store, prov + "endedAtTime") == {completion: "2026-03-01T12:00:00Z"}  # the store's way to say UTC
        assert said(store, CEAR + "version") == {"1.0 of today": "1.0 of today"}
        assert said(store, RDFS + "comment") == {}
        uses: Any = store.quads_for_pattern(None, NamedNode(prov + "used"), None, None)
        assert {quad.object.value for quad in uses} == {"http://runs/1", "urn:cear:data:d"}

    def test_a_score_that_is_nan_is_not_said(self, tmp_path: Path, suffix: str) -> None:
        write_table(tmp_path / f"p{suffix}", proposals({"subject": "a", "object": "b", "score": float("nan")}), ABOUT)
        assert said(loaded(tmp_path / f"p{suffix}"), CEAR + "score") == {}

    def test_columns_without_any_value_are_left_out(self, tmp_path: Path, suffix: str) -> None:
        table = proposals({"subject": "a", "object": "b", "subject_name": "A"})
        untyped = table.with_columns(pl.lit(None).alias(name) for name in ("object_name", "rank", "reasons"))
        write_table(tmp_path / f"p{suffix}", untyped, ABOUT)
        assert {"a": "A"}.items() <= said(loaded(tmp_path / f"p{suffix}"), RDFS + "label").items()

    @given(texts=st.lists(st.tuples(st.text(), st.text(), st.text()), unique_by=lambda each: each[0], max_size=4))
    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_any_id_and_any_text_comes_back(
        self, tmp_path: Path, suffix: str, texts: list[tuple[str, str, str]]
    ) -> None:
        rows = [{"subject": id_, "relation": r, "object": "", "reasons": why} for id_, r, why in texts]
        write_table(tmp_path / f"p{suffix}", proposals(*rows), ABOUT)
        store = loaded(tmp_path / f"p{suffix}")
        nodes, comments = reified(store), said(store, RDFS + "comment")
        assert {(id_, r, ""): comments[id_of(node.value)] for (id_, r, _), node in nodes.items()} == {
            (id_, r, ""): why for id_, r, why in texts
        }


class TestIds:
    @pytest.mark.parametrize(("id_", "iri"), re.findall(r"^\| `(.+)` \| `((?:http|urn).+)` \|$", PAGE, re.MULTILINE))
    def test_the_page_says_what_becomes_of_an_id(self, id_: str, iri: str) -> None:
        assert (iri_of(id_, "entity").value, id_of(iri)) == (iri, id_)

    @given(st.text() | st.builds("{}{}".format, st.sampled_from(["urn:cear:entity:", "http://x/", "a:"]), st.text()))
    def test_every_id_comes_back_from_its_iri(self, id_: str) -> None:
        assert id_of(iri_of(id_, "entity").value) == id_

    def test_an_id_that_looks_like_one_of_our_iris_is_not_taken_for_another(self) -> None:
        assert iri_of("urn:cear:entity:Paris", "entity") != iri_of("Paris", "entity")

    def test_an_entity_and_a_relation_of_one_id_are_two_things(self) -> None:
        assert iri_of("r", "entity") != iri_of("r", "relation")


def test_the_example_on_the_page_is_what_is_written(tmp_path: Path) -> None:
    row = {
        "subject": "Q1748",
        "relation": "capital of",
        "object": "http://www.wikidata.org/entity/Q35",
        "subject_name": "Copenhagen",
        "relation_name": "capital of",
        "object_name": "Denmark",
        "probability": 0.93,
        "rank": 1,
        "stage1_rank": 4,
        "score": -0.56,
        "stage1_score": 3.25,
        "reasons": "Of the cities in Denmark it has the most inhabitants.",
    }
    write_table(tmp_path / "p.ttl", proposals(row), ABOUT)
    assert (tmp_path / "p.ttl").read_text(encoding="utf-8").replace("\t", "    ") == block("turtle")


@pytest.mark.parametrize("suffix", FORMATS)
class TestFiles:
    def test_equal_proposals_give_equal_bytes(self, tmp_path: Path, suffix: str) -> None:
        for name in ("one", "two"):
            write_table(tmp_path / f"{name}{suffix}", nasty(), ABOUT)
        one, two = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "two"))
        assert one == two
        write_table(tmp_path / f"two{suffix}", nasty().reverse(), ABOUT)
        assert (tmp_path / f"two{suffix}").read_bytes() != one

    def test_more_rows_than_a_chunk_are_all_written(
        self, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_table(tmp_path / f"whole{suffix}", nasty(), ABOUT)
        monkeypatch.setattr("cear.completion.export.tabular.CHUNK", 2)
        write_table(tmp_path / f"parts{suffix}", nasty(), ABOUT)
        if suffix == ".parquet":  # whose row groups are other bytes
            assert_frame_equal(pl.read_parquet(tmp_path / "parts.parquet"), nasty())
        else:
            assert (tmp_path / f"parts{suffix}").read_bytes() == (tmp_path / f"whole{suffix}").read_bytes()

    def test_a_disk_that_is_full_leaves_the_old_file_and_nothing_else(self, tmp_path: Path, suffix: str) -> None:
        """Not simulated: the system itself refuses the bytes."""
        path = tmp_path / f"p{suffix}"
        path.write_text("old")
        many = proposals(*({"subject": f"s{i * i * 7919}", "object": f"o{i}"} for i in range(2000)))
        with files_of_at_most(4096), pytest.raises(CearError, match=r"p\.\w+ could not be written: .*Make room"):
            write_table(path, many, ABOUT)
        assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [(path.name, "old")]

    def test_a_folder_that_is_missing_is_named_and_not_made(self, tmp_path: Path, suffix: str) -> None:
        with pytest.raises(DataError, match=r"there is no folder .*/gone\. Make it"):
            write_table(tmp_path / "gone" / f"p{suffix}", nasty(), ABOUT)
        assert [*tmp_path.iterdir()] == []


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A system that refuses to write more bytes than these into a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class TestRefusals:
    @pytest.mark.parametrize(("name", "said"), [("p.xlsx", r"ends in '\.xlsx'"), ("p", "has no ending")])
    def test_an_unknown_ending_names_the_known_ones(self, tmp_path: Path, name: str, said: str) -> None:
        with pytest.raises(ConfigError, match=rf"{said}.* Known: \.tsv, \.jsonl, \.parquet, \.nt, \.ttl\."):
            write_table(tmp_path / name, nasty(), ABOUT)
        assert [*tmp_path.iterdir()] == []

    def test_an_ending_in_capitals_is_the_same(self, tmp_path: Path) -> None:
        write_table(tmp_path / "p.JSONL", nasty().head(1), ABOUT)
        assert json.loads((tmp_path / "p.JSONL").read_text())["subject"] == "s0"

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            (nasty().drop("known", "rank"), "has no column rank, known"),
            (proposals({"subject": "a", "object": None}), "without subject, relation or object"),
            (nasty().with_columns(picture=pl.lit(b"\xff")), "picture holds bytes"),
        ],
    )
    def test_a_table_that_is_none_of_proposals(self, tmp_path: Path, table: pl.DataFrame, message: str) -> None:
        with pytest.raises(DataError, match=message):
            write_table(tmp_path / "p.tsv", table, ABOUT)
        assert [*tmp_path.iterdir()] == []

    def test_a_fact_that_was_judged_twice_has_two_rows(self, tmp_path: Path) -> None:
        write_table(tmp_path / "p.tsv", proposals(*[{"subject": "a", "object": "b"}] * 2), ABOUT)
        _, *lines = (tmp_path / "p.tsv").read_text().splitlines()
        assert [line.split("\t")[:3] for line in lines] == [["a", "r", "b"]] * 2

    def test_without_pyoxigraph_the_error_says_what_to_install(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import cear.completion.export

        for name in ("rdf", "iris"):
            monkeypatch.delattr(cear.completion.export, name, raising=False)
            monkeypatch.delitem(sys.modules, f"cear.completion.export.{name}", raising=False)
        monkeypatch.setitem(sys.modules, "pyoxigraph", None)
        with pytest.raises(ConfigError, match=r'pip install "cear\[rdf\]"'):
            write_table(tmp_path / "p.ttl", nasty(), ABOUT)
        assert [*tmp_path.iterdir()] == []
