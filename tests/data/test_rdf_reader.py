"""N-Triples and Turtle."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cear.core.errors import DataError
from cear.data import load, read
from cear.data.readers.rdf import readable
from cear.data.type_facts import RDF_TYPE

TURTLE = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix schema: <https://schema.org/> .
:Q90 :capitalOf :Q142 ; rdfs:label "Parigi"@it, "Paris"@en, "Paname" ; :population 2100000 .
:Q142 rdfs:label "la France"@fr, "France" ; rdfs:comment "A country\\n in Europe."@en .
:Q64 :capitalOf :Germany ; skos:prefLabel "Berlin"@en-GB ; rdfs:label "Spree-Athen"@de ; schema:description "A city." .
:New_Zealand :shares [ :with :Q64 ] .
:Q64 :in :Germany .
:Q64 :in :Germany .
:capitalOf rdfs:label "is the capital of"@en .
"""


def test_links_are_facts_and_labels_are_names(write: Callable[..., Path]) -> None:
    kb = load(write({"kb.ttl": TURTLE}) / "kb.ttl", valid_share=0, test_share=0)
    named = {row["id"].rsplit("/", 1)[1]: row for row in kb.entities.table.iter_rows(named=True)}
    assert {id_: row["name"] for id_, row in named.items()} == {
        "Q90": "Paris",  # English before no language before Italian
        "Q142": "France",  # no language before French
        "Q64": "Berlin",  # an English preferred label before a German label
        "Germany": "Germany",  # the last part of the IRI
    }
    assert named["Q142"]["description"] == "A country in Europe."
    assert named["Q64"]["description"] == "A city."
    assert sorted(kb.relations.table["name"]) == ["in", "is the capital of"]
    assert len(kb.facts("train")) == 3


def test_what_is_no_fact_is_counted(write: Callable[..., Path]) -> None:
    report = read(write({"kb.ttl": TURTLE}) / "kb.ttl").report
    assert report.left_out == {
        "literals that are neither names nor descriptions": 1,
        "statements with blank nodes": 2,
    }
    assert report.duplicate_facts == 1


def test_the_order_of_statements_does_not_matter(write: Callable[..., Path]) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = [
        "<http://x/a> <http://x/r> <http://x/b> .\n",
        f'<http://x/a> {label} "one" .\n',
        f'<http://x/a> {label} "another" .\n',
    ]
    folder = write({"a.nt": "".join(lines), "b.nt": "".join(lines[::-1])})
    assert load(folder / "a.nt").digest == load(folder / "b.nt").digest
    assert load(folder / "a.nt").entities.name(0) == "another"


TYPED = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Paris a :City, :Place ; :in :France .
:France a :Country ; :in :Europe .
:City rdfs:subClassOf :Place .
:Bot a :Paris .
:Country rdfs:label "sovereign state"@en .
"""


class TestTypes:
    """⟨Paris, rdf:type, City⟩ is a fact and gives Paris a type."""

    def test_are_said_by_rdf_type(self, write: Callable[..., Path]) -> None:
        kb = load(write({"kb.ttl": TYPED}) / "kb.ttl", valid_share=0, test_share=0)
        assert kb.types is not None
        types = {kb.entities.name(e): kb.types.of(e) for e in range(kb.n_entities) if kb.types.of(e)}
        assert types == {"Paris": ("City", "Place"), "France": ("sovereign state",)}, "Paris is in France, so no type"
        assert len(kb.facts("train")) == 7, "and they are facts as before"

    def test_change_no_digest_because_facts_say_them(self, write: Callable[..., Path]) -> None:
        kb = load(write({"kb.ttl": TYPED}) / "kb.ttl")
        assert kb.digest == kb.with_types(None).digest

    def test_that_share_a_name_are_called_by_their_iri(self, write: Callable[..., Path]) -> None:
        turtle = "@prefix a: <http://a/> . @prefix b: <http://b/> . a:x a a:City, b:City, b:Town ."
        types = load(write({"kb.ttl": turtle}) / "kb.ttl").types
        assert types is not None
        assert sorted(types.names) == ["Town", "http://a/City", "http://b/City"]

    def test_come_from_training_facts_alone(self, write: Callable[..., Path]) -> None:
        lines = [f"<http://x/e{i}> <{RDF_TYPE}> <http://x/T{j}> .\n" for i in range(6) for j in range(6)]
        kb = load(write({"kb.nt": "".join(lines)}) / "kb.nt", valid_share=0.2, test_share=0.2)
        assert kb.types is not None
        said = {(s, kb.types.names.index(kb.entities.name(o))) for s, _, o in kb.facts("train").tolist()}
        assert set(zip(kb.types.of_entity.rows.tolist(), kb.types.of_entity.values.tolist(), strict=True)) == said
        assert len(kb.facts("test")) == 7
        fewer = kb.with_facts({"train": kb.facts("train")[1:]})
        assert fewer.types is not None
        assert len(fewer.types.of_entity.values) == len(said) - 1, "nor does a held-out fold come back as types"

    def test_are_none_where_nothing_says_them(self, write: Callable[..., Path]) -> None:
        assert load(write({"kb.ttl": TURTLE}) / "kb.ttl").types is None
        only = "@prefix : <http://x/> . :a a :b . :b :r :a ."
        assert load(write({"kb.ttl": only}) / "kb.ttl").types is None, ":b is a thing"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "kb.nt",
            b"<http://x/a> <http://x/r> <http://x/b> .\n<http://x/a> <http://x/r>\n",
            r"kb\.nt:2: .*skip_bad_lines",
        ),
        ("kb.nt", b'<http://x/a> <http://x/r> "\xff" .\n', r"kb\.nt:1: .*UTF-8"),
        ("kb.ttl", b"@prefix : <http://x/> .\n:a :r :b .\n:a no:r :b .\n", r"kb\.ttl:3: .*Correct the file\.$"),
        ("kb.ttl", b'@prefix : <http://x/> .\n:a :r "b" .\n', r"kb\.ttl holds no facts"),
        ("kb.nt", b"", r"kb\.nt holds no facts"),
    ],
)
def test_bad_files_are_refused(write: Callable[..., Path], name: str, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(write({name: content}) / name)


def test_bad_lines_of_n_triples_can_be_skipped(write: Callable[..., Path]) -> None:
    content = (
        b"<http://x/a> <http://x/r> <http://x/b> .\nnonsense\n# a comment\n<http://x/c> <http://x/r> <http://x/a> .\n"
    )
    reading = read(write({"kb.nt": content}) / "kb.nt", skip_bad_lines=True)
    assert reading.kb.n_entities == 3
    assert reading.report.skipped_lines == 1
    assert "kb.nt:2" in reading.report.skipped_examples[0]


def test_without_pyoxigraph_the_error_says_what_to_install(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import cear.data.readers

    monkeypatch.delattr(cear.data.readers, "rdf_statements", raising=False)
    monkeypatch.delitem(sys.modules, "cear.data.readers.rdf_statements", raising=False)
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(DataError, match=r'pip install "cear\[rdf\]"'):
        load(write({"kb.ttl": TURTLE}) / "kb.ttl")


@pytest.mark.parametrize(
    ("iri", "words"),
    [
        ("http://dbpedia.org/resource/New_York_City", "New York City"),
        ("http://example.org/Krak%C3%B3w", "Kraków"),
        ("http://example.org/ontology#McDonald", "McDonald"),
        ("http://example.org/folder/", "folder"),
        ("urn:isbn:123", "123"),
        ("http://", "http://"),
    ],
)
def test_an_iri_without_a_label_is_made_readable(iri: str, words: str) -> None:
    assert readable(iri) == words
