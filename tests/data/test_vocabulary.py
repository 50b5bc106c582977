"""Names for integers."""

import polars as pl
import pytest

from cear.core.errors import AmbiguousName, DataError, UnknownName
from cear.data import Vocabulary
from cear.data.vocabulary import SCHEMA


@pytest.fixture
def cities() -> Vocabulary:
    return Vocabulary.from_ids("entity", ["Q90", "Q64", "Q830149"], names=["Paris", "Berlin", "Paris"])


def test_an_id_is_found_before_a_name() -> None:
    vocabulary = Vocabulary.from_ids("entity", ["a", "b"], names=["b", "a"])
    assert vocabulary.find("a") == 0


def test_a_name_is_found_in_any_letter_case(cities: Vocabulary) -> None:
    assert cities.find("bERLIN") == 1


def test_the_exact_letter_case_decides_between_two_names() -> None:
    vocabulary = Vocabulary.from_ids("entity", ["1", "2"], names=["Polish", "polish"])
    assert (vocabulary.find("Polish"), vocabulary.find("polish")) == (0, 1)


def test_a_shared_name_is_refused_with_the_ids(cities: Vocabulary) -> None:
    with pytest.raises(AmbiguousName, match=r"2 entities are called 'Paris'.*Q90, Q830149"):
        cities.find("Paris")


def test_a_typo_gets_a_suggestion(cities: Vocabulary) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'Berlin'"):
        cities.find("Berlni")


def test_names_default_to_ids_and_descriptions_to_none() -> None:
    vocabulary = Vocabulary.from_ids("relation", ["capital of"])
    assert (vocabulary.name(0), vocabulary.description(0)) == ("capital of", None)


def test_an_empty_vocabulary_has_no_names_to_give() -> None:
    assert len(Vocabulary.from_ids("entity", [], names=[])) == 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"id": ["a", "a"], "name": ["x", "y"]}, "Two rows have the entity id 'a'"),
        ({"id": ["a", None], "name": ["x", "y"]}, "needs an id and a name"),
        ({"id": ["a"], "name": [None]}, "needs an id and a name"),
    ],
)
def test_ids_are_distinct_and_nothing_is_nameless(table: dict[str, list[str]], message: str) -> None:
    empty = [None] * len(table["id"])
    with pytest.raises(DataError, match=message):
        Vocabulary("entity", pl.DataFrame({**table, "description": empty}, schema=SCHEMA))


def test_a_table_of_other_columns_is_refused() -> None:
    with pytest.raises(DataError, match="A vocabulary has the columns"):
        Vocabulary("entity", pl.DataFrame({"id": ["a"]}))
