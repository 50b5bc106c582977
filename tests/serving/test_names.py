"""Names as people type them: begun, with typos, in any script; an index that is built once and kept."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cear.data import KnowledgeBase, Vocabulary
from cear.serving.names import NameSearch
from cear.serving.spelling import folded, words

NAMES = [
    "Paris",  # 0
    "Paris, Texas",
    "United States",
    "United Kingdom",
    "Union",
    "São Tomé",  # 5
    "O’Neill",
    "東京都",
    "京都市",
    "مُحَمَّد",
    "हिन्दी",  # 10
    "Łódź",
    "!!!",
    "<script>alert(1)</script>",
    "🎉 party",
    "New York City",  # 15
    "Liechtenstein",
    "Straße",
]


def kb_of(names: list[str], facts: list[tuple[int, int, int]], aliases: list[tuple[int, str]] = []) -> KnowledgeBase:  # noqa: B006
    table = Vocabulary.from_ids("entity", [f"e{i}" for i in range(len(names))], names=names).table
    others = pl.DataFrame(aliases, schema={"index": pl.Int64, "alias": pl.String}, orient="row")
    relations = Vocabulary.from_ids("relation", ["r"])
    return KnowledgeBase("names", Vocabulary("entity", table, others), relations, {"train": np.array(facts)})


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> NameSearch:
    facts = [(3, 0, 2), (3, 0, 4), (3, 0, 0)]  # the United Kingdom has the most
    return NameSearch.of(
        kb_of(NAMES, facts, [(2, "USA"), (2, "America"), (8, "Kyoto")]), tmp_path_factory.mktemp("names")
    )


def first(search: NameSearch, text: str) -> str | None:
    return next((hit.name for hit in search.search(text, 5)), None)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("pa", "Paris"),  # begun
        ("new york c", "New York City"),
        ("york", "New York City"),  # any word of it
        ("city new", "New York City"),  # in any order
        ("Pairs", "Paris"),  # the wrong way round
        ("Parris", "Paris"),
        ("Uinted Sta", "United States"),
        ("uniited kingdm", "United Kingdom"),
        ("Lichtenstien", "Liechtenstein"),  # two typos in a long word
        ("new yourk town", "New York City"),  # one word is wrong altogether
        ("SAO TOME", "São Tomé"),
        ("sa\u0303o tome\u0301", "São Tomé"),  # another encoding
        ("oneill", "O’Neill"),
        ("o'neill", "O’Neill"),
        ("lodz", "Łódź"),
        ("strasse", "Straße"),
        ("東京", "東京都"),
        ("都市", "京都市"),  # from within: there are no blanks
        ("محمد", "مُحَمَّد"),
        ("हिन्", "हिन्दी"),
        ("!!!", "!!!"),
        ("🎉", "🎉 party"),
        ("<script>", "<script>alert(1)</script>"),
        ("usa", "United States"),  # an alias
        ("kyoto", "京都市"),
        ("e16", "Liechtenstein"),  # an id
    ],
)
def test_what_somebody_types_finds_what_she_means(search: NameSearch, typed: str, name: str) -> None:
    assert first(search, typed) == name


def test_the_most_alike_come_first_and_of_equals_those_with_the_most_facts(search: NameSearch) -> None:
    begun, whole = search.search("uni", 3), search.search("paris", 2)

    assert [(hit.name, hit.score) for hit in begun] == [
        ("United Kingdom", 90.0),  # three facts
        ("United States", 90.0),  # one, and an index before that of Union
        ("Union", 90.0),
    ]
    assert [(hit.id, hit.score) for hit in whole] == [("e0", 100.0), ("e1", 90.0)]


def test_an_entity_is_found_once_by_whatever_name_is_most_alike(search: NameSearch) -> None:
    hits = search.search("america", 5)
    assert [(hit.id, hit.name, hit.score) for hit in hits] == [("e2", "United States", 100.0)]


@pytest.mark.parametrize("text", ["", "  ", "qqqq zzzz", "\u200f", "\x00"])
def test_what_nothing_is_called_finds_nothing(search: NameSearch, text: str) -> None:
    assert search.search(text, 5) == []


def test_no_more_than_asked_for_are_given(search: NameSearch) -> None:
    assert [len(search.search("u", limit)) for limit in (-1, 0, 1, 2, 50)] == [0, 0, 1, 2, 3]


def test_a_rare_name_is_found_among_many_that_begin_with_it(tmp_path: Path) -> None:
    names = [*(f"Smith {i}" for i in range(500)), "Smith"]
    search = NameSearch.of(kb_of(names, [(i, 0, i) for i in range(500)]), tmp_path)
    assert search.search("smith", 1)[0].id == "e500"


@given(st.text(max_size=200))
def test_any_text_may_be_typed(search: NameSearch, text: str) -> None:
    hits = search.search(text, 5)
    assert len({hit.id for hit in hits}) == len(hits) <= 5
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@given(st.text(max_size=50))
def test_folding_twice_changes_nothing_and_words_have_no_blanks(text: str) -> None:
    assert folded(folded(text)) == folded(text)
    assert all(word and not any(map(str.isspace, word)) for word in words(folded(text)))


def test_the_index_is_built_once(tmp_path: Path) -> None:
    kb = kb_of(["Paris"], [(0, 0, 0)])
    NameSearch.of(kb, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}

    again = NameSearch.of(kb, tmp_path)

    assert before
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == before
    assert first(again, "paris") == "Paris"


def test_other_names_aliases_or_facts_have_another_index(tmp_path: Path) -> None:
    facts = [(0, 0, 0)]
    kbs = [
        kb_of(["Paris", "Parma"], facts),
        kb_of(["Paris", "Palma"], facts),
        kb_of(["Paris", "Parma"], facts, [(0, "Lutetia")]),
        kb_of(["Paris", "Parma"], [(1, 0, 1)]),
    ]
    found = [[hit.name for hit in NameSearch.of(kb, tmp_path).search(text, 9)] for kb in kbs for text in ("lut", "pa")]

    assert found == [
        [],
        ["Paris", "Parma"],
        [],
        ["Paris", "Palma"],
        ["Paris"],
        ["Paris", "Parma"],
        [],
        ["Parma", "Paris"],
    ]
    assert len([*tmp_path.iterdir()]) == 4


@pytest.mark.parametrize("cut", ["a file", "all but the seal"])
def test_a_damaged_index_is_told_and_built_again(tmp_path: Path, caplog: pytest.LogCaptureFixture, cut: str) -> None:
    kb = kb_of(["Paris"], [(0, 0, 0)])
    NameSearch.of(kb, tmp_path)
    (place,) = tmp_path.iterdir()
    files = [path for path in place.iterdir() if path.name != "seal.json" and path.stat().st_size]
    for path in files[: 1 if cut == "a file" else None]:
        path.write_bytes(path.read_bytes()[:-1])

    with caplog.at_level(logging.WARNING, "cear"):
        assert first(NameSearch.of(kb, tmp_path), "paris") == "Paris"
    assert "is damaged and built again" in caplog.text
    caplog.clear()
    NameSearch.of(kb, tmp_path)
    assert (caplog.text, [*tmp_path.iterdir()]) == ("", [place])


def test_what_a_killed_builder_left_is_no_index(tmp_path: Path) -> None:
    kb = kb_of(["Paris"], [(0, 0, 0)])
    NameSearch.of(kb, tmp_path)
    (place,) = tmp_path.iterdir()
    (place / "seal.json").unlink()

    assert first(NameSearch.of(kb, tmp_path), "paris") == "Paris"
    assert (place / "seal.json").exists()


def test_where_nothing_can_be_written_the_index_is_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    search = NameSearch.of(kb_of(["Paris"], [(0, 0, 0)]), tmp_path / "file" / "names")
    assert first(search, "paris") == "Paris"


def test_a_knowledge_base_without_entities_can_be_searched(tmp_path: Path) -> None:
    empty = KnowledgeBase("empty", Vocabulary.from_ids("entity", []), Vocabulary.from_ids("relation", []), {})
    assert NameSearch.of(empty, tmp_path).search("paris", 5) == []
