"""Names in another form, and entities of one name: what is found, what is refused, and what tells them apart."""

from __future__ import annotations

import numpy as np
import pytest

from cear.core.errors import AmbiguousName, UnknownName
from cear.data import KnowledgeBase, Types, Vocabulary, find_entity, told_apart

COMPOSED, PARTED = "S\u00e3o Tom\u00e9", "Sa\u0303o Tome\u0301"  # NFC and NFD


def places(*names: str, descriptions: list[str] | None = None) -> KnowledgeBase:
    """Entities e0, e1, … of these names; the last two lie in the first, and the last has a twin town."""
    ids, last = [f"e{place}" for place in range(len(names))], len(names) - 1
    entities = Vocabulary.from_ids("entity", ids, names=list(names), descriptions=descriptions)
    relations = Vocabulary.from_ids("relation", ["lies in", "twinned with"])
    return KnowledgeBase(
        "toy", entities, relations, {"train": np.array([[last - 1, 0, 0], [last, 0, 0], [1, 1, last]])}
    )


@pytest.mark.parametrize("has", [COMPOSED, PARTED])
@pytest.mark.parametrize("asked", [COMPOSED, PARTED, f"  {PARTED} ", COMPOSED.upper(), PARTED.replace(" ", "\u00a0")])
def test_a_name_is_found_in_whichever_form_it_is_kept_and_asked_for(has: str, asked: str) -> None:
    assert find_entity(places("Africa", has, "Libreville"), asked) == 1


@pytest.mark.parametrize(("has", "asked"), [("Straße", "STRASSE"), ("ＮＨＫ", "nhk"), ("New  York", "new york")])
def test_letter_case_widths_and_blanks_do_not_count(has: str, asked: str) -> None:
    assert find_entity(places("Africa", has, "Libreville"), asked) == 1


def test_the_closest_form_wins() -> None:
    kb = places(COMPOSED, PARTED, COMPOSED.lower(), f" {COMPOSED}")
    assert [find_entity(kb, kb.entities.name(entity)) for entity in range(4)] == [0, 1, 2, 3], "exact forms"
    one_encoding = places(PARTED, COMPOSED.lower(), "Libreville")
    assert find_entity(one_encoding, COMPOSED) == 0, "an encoding is closer than a letter case"


def test_names_that_are_alike_in_their_coarsest_form_only_are_refused() -> None:
    with pytest.raises(AmbiguousName, match=r"2 entities are called 'POLISH'\. Say which by its id:") as told:
        find_entity(places("Polish", "polish", "Africa"), "POLISH")
    assert "e0 (Polish)" in str(told.value)
    assert "e1 (polish)" in str(told.value)


def test_what_nobody_is_called_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName, match=r"No entity is called 'St Louis'\. Did you mean 'St\. Louis'"):
        find_entity(places("Africa", "St. Louis", "Libreville"), "St Louis")


class TestToldApart:
    def test_by_types_where_they_differ(self) -> None:
        kb = places("Paris", "Paris", "Troy", "Troy")
        kb = kb.with_types(Types.of_pairs(("city", "hero"), np.arange(4), np.array([0, 1, 0, 0]), 4))
        assert told_apart(kb, [0, 1]) == ["city", "hero"]
        assert told_apart(kb, [2, 3]) == ["city", "city; ⟨Paris, twinned with, Troy⟩"], "all that is known"

    def test_by_descriptions_cut_to_a_line(self) -> None:
        kb = places("Paris", "Paris", "Texas", descriptions=["a\ncity", "a hero " * 20, "a state"])
        assert told_apart(kb, [0, 2]) == ["a\\ncity", "a state"]
        assert len(told_apart(kb, [0, 1])[1]) <= 80

    def test_by_a_fact_that_the_other_does_not_have(self) -> None:
        kb = places("Texas", "Georgetown", "Paris", "Paris")
        assert told_apart(kb, [2, 3]) == ["", "⟨Georgetown, twinned with, Paris⟩"], "both lie in Texas"

    def test_not_by_a_fact_between_the_two(self) -> None:
        told = told_apart(places("Paris", "Texas", "Paris"), [0, 2])
        assert told == ["⟨Texas, lies in, Paris⟩", "⟨Texas, twinned with, Paris⟩"]

    def test_the_error_shows_it_beside_each_id(self) -> None:
        with pytest.raises(AmbiguousName) as told:
            find_entity(places("Africa", "Paris", "Paris", descriptions=["", "a city", "a hero"]), "paris")
        assert str(told.value).splitlines() == [
            "2 entities are called 'paris'. Say which by its id:",
            "  e1 (Paris): a city",
            "  e2 (Paris): a hero",
        ]

    def test_of_many_namesakes_the_first_ten_are_listed(self) -> None:
        with pytest.raises(AmbiguousName, match=r"(?s)12 entities are called 'Paris'.*\n  and 2 more$") as told:
            find_entity(places(*["Paris"] * 12), "Paris")
        assert len(str(told.value).splitlines()) == 12
