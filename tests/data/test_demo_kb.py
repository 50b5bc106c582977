"""The embedded demo knowledge base: true facts, names one can ask by, and a split without shortcuts."""

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

import cear.data
from cear.core.types import SPLITS, Split
from cear.data import KnowledgeBase

Named = tuple[str, str, str]


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return cear.data.load("demo")


@pytest.fixture(scope="module")
def named(kb: KnowledgeBase) -> dict[Split, set[Named]]:
    """The facts of each split by name."""
    return {
        split: {
            (kb.entities.name(s), kb.relations.name(r), kb.entities.name(o)) for s, r, o in kb.facts(split).tolist()
        }
        for split in SPLITS
    }


def pairs(kb: KnowledgeBase, split: Split) -> set[frozenset[int]]:
    return {frozenset((int(s), int(o))) for s, _, o in kb.facts(split)}


def entities(kb: KnowledgeBase, split: Split) -> set[int]:
    return set(kb.facts(split)[:, [0, 2]].ravel().tolist())


@pytest.mark.parametrize(
    "fact",
    [
        ("Paris", "capital of", "France"),
        ("Bern", "capital of", "Switzerland"),
        ("Astana", "capital of", "Kazakhstan"),
        ("Kraków", "located in country", "Poland"),
        ("Kansas City", "located in state or province", "Missouri"),
        ("Bavaria", "state or province of", "Germany"),
        ("Atlanta", "located in state or province", "Georgia (US state)"),
        ("Madrid", "time zone", "Central European Time"),
        ("France", "shares border with", "Spain"),
        ("Spain", "shares border with", "France"),
        ("Peru", "continent", "South America"),
        ("Kenya", "world region", "Eastern Africa"),
        ("Brazil", "official language", "Portuguese"),
        ("Spain", "other spoken language", "Basque"),
        ("Greek", "written in", "Greek script"),
        ("Japan", "currency", "Japanese Yen"),
        ("Bulgaria", "currency", "Euro"),  # since 2026
        ("Italy", "former currency", "Italian Lira"),
        ("German Mark", "replaced by", "Euro"),
        ("Swiss Franc", "kind of currency", "franc"),
        ("Charles de Gaulle International Airport", "serves city", "Paris"),
        ("Incheon International Airport", "airport in country", "South Korea"),
    ],
)
def test_what_everybody_can_check_is_there(named: dict[Split, set[Named]], fact: Named) -> None:
    assert fact in set.union(*named.values())


@pytest.mark.parametrize(
    "falsehood",
    [
        ("Kansas City", "located in state or province", "Kansas"),
        ("Croatia", "currency", "Croatian Kuna"),
        ("Ukraine", "official language", "Russian"),
        ("Sydney", "capital of", "Australia"),
        ("Indonesian Rupiah", "replaced by", "US Dollar"),
    ],
)
def test_what_the_sources_make_easy_to_get_wrong_is_not_there(named: dict[Split, set[Named]], falsehood: Named) -> None:
    assert falsehood not in set.union(*named.values())


def test_it_is_of_the_promised_size(kb: KnowledgeBase) -> None:
    total = sum(len(kb.facts(split)) for split in SPLITS)
    assert 3_000 <= total <= 8_000
    assert 1_500 <= kb.n_entities <= 3_000
    assert 10 <= kb.n_relations <= 20
    assert 0.06 < len(kb.facts("valid")) / total < 0.10
    assert 0.08 < len(kb.facts("test")) / total < 0.12


def test_its_files_are_small() -> None:
    folder = Path(cear.data.__file__).parent / "demo"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 600_000


def test_every_entity_and_relation_can_be_found_by_its_name(kb: KnowledgeBase) -> None:
    for vocabulary in (kb.entities, kb.relations):
        names = vocabulary.table["name"].to_list()
        assert all(name and name == name.strip() for name in names)
        assert [name for name, count in Counter(map(str.casefold, names)).items() if count > 1] == []
        assert all(vocabulary.find(name) == index for index, name in enumerate(names))


def test_no_entity_shows_its_id_for_want_of_a_name(kb: KnowledgeBase) -> None:
    ids, names = kb.entities.table["id"].to_list(), kb.entities.table["name"].to_list()
    assert [id_ for id_, name in zip(ids, names, strict=True) if id_ == name] == []


def test_held_out_facts_speak_only_of_what_train_knows(kb: KnowledgeBase) -> None:
    relations = set(kb.facts("train")[:, 1].tolist())
    for split in ("valid", "test"):
        assert entities(kb, split) <= entities(kb, "train")
        assert set(kb.facts(split)[:, 1].tolist()) <= relations


def test_all_entities_and_relations_occur(kb: KnowledgeBase) -> None:
    assert entities(kb, "train") == set(range(kb.n_entities))


def test_no_two_entities_are_linked_in_two_splits(kb: KnowledgeBase) -> None:
    """So neither a symmetric fact nor a second relation of the same pair gives a held-out fact away."""
    for one, other in combinations(SPLITS, 2):
        assert pairs(kb, one) & pairs(kb, other) == set()


def test_borders_are_told_from_both_sides_within_one_split(named: dict[Split, set[Named]]) -> None:
    for facts in named.values():
        borders = {(s, o) for s, r, o in facts if r == "shares border with"}
        assert borders
        assert borders == {(o, s) for s, o in borders}


def test_where_a_city_lies_is_held_out_as_a_whole(kb: KnowledgeBase) -> None:
    """The province would give the country away."""
    placing = {kb.relations.find(r) for r in ("capital of", "located in country", "located in state or province")}
    placed = {split: {int(s) for s, r, _ in kb.facts(split) if r in placing} for split in SPLITS}
    for one, other in combinations(SPLITS, 2):
        assert placed[one] & placed[other] == set()


def test_no_fact_is_told_twice(kb: KnowledgeBase) -> None:
    facts = [tuple(fact) for split in SPLITS for fact in kb.facts(split).tolist()]
    assert len(facts) == len(set(facts))


def test_every_relation_has_held_out_facts(kb: KnowledgeBase) -> None:
    for split in ("valid", "test"):
        assert len(set(kb.facts(split)[:, 1].tolist())) == kb.n_relations
