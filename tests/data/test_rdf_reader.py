"""N-Triples and Turtle."""

import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cear.core.errors import AmbiguousName, ConfigError, DataError
from cear.data import KnowledgeBase, check_source, load, read, read_kept, write_kept
from cear.data.rdf_rules import OWL_SAME_AS
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
    literals = "literals that are neither names nor descriptions"
    assert report.left_out == {literals: 1, "statements with blank nodes": 2}
    assert report.left_out_examples == {literals: ("http://example.org/population (1)",)}
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


LABELLED = """
@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix schema: <http://schema.org/> .
:munich :in :germany . :moscow :in :russia . :x :in :germany .
:munich rdfs:label "Munich"@en, "München"@de, "Minga"@bar, "Мюнхен"@ru ; rdfs:comment "Stadt"@de, "city"@en .
:munich skos:altLabel "Monaco di Baviera"@it, "MUC" ; schema:alternateName "Isar-Athen"@de .
:germany rdfs:label "Allemagne"@fr, "ألمانيا"@ar, "Германия"@ru .
:moscow rdfs:label "Москва"@ru, "Moskau"@de-AT ; skos:altLabel "Moscow"@en .
:russia rdfs:label "俄罗斯"@zh, "Россия"@ru .
:in skos:altLabel "lies in"@en .
"""


def _names(kb: KnowledgeBase) -> dict[str, str]:
    return {row["id"].rsplit("/", 1)[1]: row["name"] for row in kb.entities.table.iter_rows(named=True)}


class TestLanguages:
    @pytest.mark.parametrize(
        ("languages", "names"),
        [
            (None, {"munich": "Munich", "germany": "Allemagne", "moscow": "Moskau", "russia": "Россия"}),
            (["de"], {"munich": "München", "germany": "Allemagne", "moscow": "Moskau", "russia": "Россия"}),
            (["ru", "de"], {"munich": "Мюнхен", "germany": "Германия", "moscow": "Москва", "russia": "Россия"}),
            (["AR"], {"munich": "Minga", "germany": "ألمانيا", "moscow": "Moskau", "russia": "Россия"}),
        ],
    )
    def test_the_preferred_ones_come_first_then_the_script_of_most_labels(
        self, write: Callable[..., Path], languages: list[str] | None, names: dict[str, str]
    ) -> None:
        rules = {} if languages is None else {"languages": languages}
        kb = load(write({"kb.ttl": LABELLED}) / "kb.ttl", rdf=rules)
        assert _names(kb) == names | {"x": "x"}  # 5 Latin labels, 4 Cyrillic ones; "zh" stands behind "ru"

    def test_descriptions_have_the_same_language(self, write: Callable[..., Path]) -> None:
        path = write({"kb.ttl": LABELLED}) / "kb.ttl"
        for language, text in (("de", "Stadt"), ("en", "city")):
            entities = load(path, rdf={"languages": [language]}).entities
            assert entities.description(entities.find("http://x/munich")) == text

    @pytest.mark.parametrize("language", ["e n", "", "de_AT", "*"])
    def test_what_is_no_language_is_refused(self, language: str) -> None:
        with pytest.raises(ConfigError, match=r"languages\.0"):
            load("demo", rdf={"languages": [language]})


class TestAliases:
    def test_things_are_found_by_all_their_names(self, write: Callable[..., Path]) -> None:
        entities = load(write({"kb.ttl": LABELLED}) / "kb.ttl").entities
        munich = entities.find("http://x/munich")
        for name in ("Munich", "München", "MÜNCHEN", "Мюнхен", "Monaco di Baviera", "muc", "Isar-Athen"):
            assert entities.find(name) == munich
        assert entities.name(munich) == "Munich"
        assert entities.name(entities.find("Moscow")) == "Moskau"

    def test_relations_too(self, write: Callable[..., Path]) -> None:
        relations = load(write({"kb.ttl": LABELLED}) / "kb.ttl").relations
        assert relations.find("lies in") == relations.find("in")

    def test_a_name_counts_more_than_an_alias(self, write: Callable[..., Path]) -> None:
        more = LABELLED + ':monaco :in :france ; rdfs:label "Monaco di Baviera"@en .'
        entities = load(write({"kb.ttl": more}) / "kb.ttl").entities
        assert entities.id(entities.find("monaco di baviera")) == "http://x/monaco"

    def test_an_alias_of_two_is_ambiguous(self, write: Callable[..., Path]) -> None:
        more = LABELLED + ':x skos:altLabel "MUC" .'
        with pytest.raises(AmbiguousName, match="2 entities are called 'MUC'"):
            load(write({"kb.ttl": more}) / "kb.ttl").entities.find("MUC")

    def test_nothing_learns_from_them(self, write: Callable[..., Path]) -> None:
        folder = write({"a.ttl": LABELLED, "b.ttl": LABELLED.replace('"MUC"', '"Mingga"')})
        assert load(folder / "a.ttl").digest == load(folder / "b.ttl").digest

    def test_the_cache_keeps_them(self, write: Callable[..., Path], tmp_path: Path) -> None:
        kb = load(write({"kb.ttl": LABELLED}) / "kb.ttl")
        write_kept(tmp_path / "kept", kb)
        kept = read_kept(tmp_path / "kept", "kb")
        assert kept.entities.find("Isar-Athen") == kb.entities.find("Munich")
        assert kept.relations.find("lies in") == 0


LINKED = """
@prefix : <http://x/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
:a :r :b . :b :r :c . :c :s :a .
:a owl:sameAs :b, <http://elsewhere/a> .
:a foaf:depiction :picture ; foaf:page :page . :a a :T ; :size 3, 4 ; :age 5 .
"""


class TestWhatIsNoFact:
    def test_same_as_is_told_and_not_learned(self, write: Callable[..., Path]) -> None:
        reading = read(write({"kb.ttl": LINKED}) / "kb.ttl")
        inside = "owl:sameAs links between entities of this knowledge base"
        assert reading.report.left_out[inside] == 1
        assert reading.report.left_out_examples[inside] == ("http://x/a = http://x/b",)
        assert reading.report.left_out["owl:sameAs links to elsewhere"] == 1
        assert OWL_SAME_AS not in reading.kb.relations.by_id

    def test_same_as_is_a_relation_on_demand(self, write: Callable[..., Path]) -> None:
        kb = load(write({"kb.ttl": LINKED}) / "kb.ttl", rdf={"same_as_facts": True})
        assert OWL_SAME_AS in kb.relations.by_id
        assert "http://elsewhere/a" in kb.entities.by_id

    def test_literals_are_told_by_predicate(self, write: Callable[..., Path]) -> None:
        found = check_source(write({"kb.ttl": LINKED}) / "kb.ttl").findings
        literals = [finding for finding in found if "literals" in finding.message]
        assert [(finding.count, finding.examples) for finding in literals] == [
            (3, ("http://x/size (2)", "http://x/age (1)"))
        ]

    @pytest.mark.parametrize(
        "predicates",
        [["http://xmlns.com/foaf/0.1/depiction", "foaf:page"], ["foaf:*"], ["http://xmlns.com/foaf/0.1/*"]],
    )
    def test_predicates_are_left_out(self, write: Callable[..., Path], predicates: list[str]) -> None:
        reading = read(write({"kb.ttl": LINKED}) / "kb.ttl", rdf={"leave_out": predicates})
        what = "statements of predicates that were to be left out"
        assert reading.report.left_out[what] == 2
        assert reading.report.left_out_examples[what] == (
            "http://xmlns.com/foaf/0.1/depiction (1)",
            "http://xmlns.com/foaf/0.1/page (1)",
        )
        assert {"http://x/picture", "http://x/page"} & {*reading.kb.entities.by_id} == set()

    def test_one_that_no_statement_has_is_told(
        self, write: Callable[..., Path], caplog: pytest.LogCaptureFixture
    ) -> None:
        load(write({"kb.ttl": LINKED}) / "kb.ttl", rdf={"leave_out": ["foaf:depicts", "foaf:page"]})
        assert "no statement has the predicate http://xmlns.com/foaf/0.1/depicts" in caplog.text
        assert "foaf/0.1/page" not in caplog.text

    def test_what_is_no_predicate_is_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"leave_out.*expected an IRI"):
            load("demo", rdf={"leave_out": ["depiction"]})

    def test_types_that_are_left_out_of_the_facts_stay_types(self, write: Callable[..., Path]) -> None:
        kb = load(write({"kb.ttl": LINKED}) / "kb.ttl", rdf={"leave_out": ["rdf:type"]})
        assert kb.types is not None
        assert kb.types.of(kb.entities.find("a")) == ("T",)
        assert RDF_TYPE not in kb.relations.by_id
        assert "http://x/T" not in kb.entities.by_id

    def test_statements_about_statements_are_counted(self, write: Callable[..., Path]) -> None:
        content = "@prefix : <http://x/> . :a :r :b . :a :says <<( :a :r :b )>> ."
        report = read(write({"kb.ttl": content}) / "kb.ttl").report
        assert report.left_out == {"statements about statements": 1}


class TestNesting:
    """The parser dies of statements that nest too deep, and with it the process."""

    @pytest.mark.parametrize("between", ["", "\n", " # )>>\n", ' # ")>>"\n'])
    @pytest.mark.parametrize("subject", [":s", "<http://x/)>", ":s\\#", ":s\\'"])
    def test_is_refused_before_it_gets_there(self, write: Callable[..., Path], between: str, subject: str) -> None:
        deep = f"<<( {subject} :p {between}" * 50_000 + ":o" + " )>>" * 50_000
        path = write({"kb.ttl": f"@prefix : <http://x/> .\n:a :r :b ; :q {deep} .\n"}) / "kb.ttl"
        with pytest.raises(DataError, match=r"kb\.ttl:\d+: more than 100 statements speak of one another"):
            load(path)

    def test_costs_a_line_of_n_triples_only(self, write: Callable[..., Path]) -> None:
        s = "<http://x/a> <http://x/r> "
        deep = s + f"<<( {s}" * 50_000 + "<http://x/b>" + " )>>" * 50_000 + " .\n"
        path = write({"kb.nt": f"{s}<http://x/b> .\n{deep}{s}<http://x/c> .\n"}) / "kb.nt"
        with pytest.raises(DataError, match=r"kb\.nt:2: more than 100.*skip_bad_lines"):
            load(path)
        reading = read(path, skip_bad_lines=True)
        assert reading.report.skipped_lines == 1
        assert reading.kb.n_entities == 3

    def test_what_only_looks_like_it_is_read(self, write: Callable[..., Path]) -> None:
        text = '"""<<( " <<( """, \'<<(\', "\\"<<(" ; # <<(\n'
        flat = ":x :t " + text + " :says <<( :a :r :b )>> .\n"
        kb = load(write({"kb.ttl": "@prefix : <http://x/> . :a :r :b .\n" + flat * 150}) / "kb.ttl")
        assert kb.n_entities == 2

    @pytest.mark.parametrize(("one", "other"), [("[ :r ", " ]"), ("( ", " )")])
    def test_of_blank_nodes_and_lists_is_no_danger(self, write: Callable[..., Path], one: str, other: str) -> None:
        deep = one * 100_000 + ":o" + other * 100_000
        kb = load(write({"kb.ttl": f"@prefix : <http://x/> . :a :r :b ; :q {deep} ."}) / "kb.ttl")
        assert kb.n_entities == 2


class TestPacked:
    @pytest.mark.parametrize("name", ["kb.ttl.gz", "kb.TTL"])
    def test_the_content_decides(self, write: Callable[..., Path], name: str) -> None:
        plain = load(write({"plain.ttl": TURTLE}) / "plain.ttl")
        assert load(write({name: gzip.compress(TURTLE.encode())}) / name).digest == plain.digest

    @pytest.mark.parametrize("skip", [True, False])
    def test_a_damaged_one_is_told(self, write: Callable[..., Path], skip: bool) -> None:
        whole = gzip.compress(b"<http://x/a> <http://x/r> <http://x/b> .\n" * 1_000)
        path = write({"kb.nt.gz": whole[:-12]}) / "kb.nt.gz"
        with pytest.raises(DataError, match=r"kb\.nt\.gz is packed and damaged"):
            load(path, skip_bad_lines=skip)


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
