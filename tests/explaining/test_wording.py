"""Facts in plain English, whatever form the names of relations have."""

from __future__ import annotations

import pytest

from cear.explaining.wording import clause, sentence


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("capital of", "A is capital of B"),
        ("located in country", "A is located in country B"),
        ("airport in country", "A is airport in country B"),
        ("replaced by", "A is replaced by B"),
        ("serves city", "A serves city B"),
        ("was born in", "A was born in B"),
        ("has part", "A has part B"),
        ("currency", "the currency of A is B"),
        ("place of birth", "A has “place of birth” B"),
        ("P17", "A has “P17” B"),
        ("locatedIn", "A has “locatedIn” B"),
        ("/film/film/genre", "A has “/film/film/genre” B"),
        ("", "A has “” B"),
    ],
)
def test_the_form_of_a_name_decides_how_it_is_said(relation: str, expected: str) -> None:
    assert clause("A", relation, "B") == expected


def test_names_keep_their_letters_at_the_start_of_a_sentence() -> None:
    assert sentence("iPhone is made by Apple") == "iPhone is made by Apple."
    assert sentence("the maker of iPhone is Apple") == "The maker of iPhone is Apple."
