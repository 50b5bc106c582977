"""Words to integers, by first appearance."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from cear.data.draft import FACT
from cear.data.numbering import NO_NUMBER, as_given, by_appearance, coded, in_integers
from cear.nouns import Split

words = st.sampled_from(["a", "b", "ä", "a b", "ccccccccccccccccccccc", "d"])
fact_lists = st.lists(st.tuples(words, words, words), min_size=1, max_size=12)


def _frame(facts: list[tuple[str, str, str]]) -> pl.DataFrame:
    return pl.DataFrame(facts, schema=dict.fromkeys(FACT, pl.String), orient="row")


@given(train=fact_lists, test=fact_lists)
def test_integers_are_those_of_a_dictionary_filled_line_by_line(
    train: list[tuple[str, str, str]], test: list[tuple[str, str, str]]
) -> None:
    splits: dict[Split, pl.DataFrame] = coded({"train": _frame(train), "test": _frame(test)})
    entities, relations = by_appearance(splits, "subject", "object"), by_appearance(splits, "relation")
    expected = list(dict.fromkeys(word for s, _, o in train + test for word in (s, o)))
    assert entities.words.to_list() == expected
    facts = in_integers(splits["test"], entities, relations)
    assert [(entities.words[s], relations.words[r], entities.words[o]) for s, r, o in facts.tolist()] == test


def test_a_word_without_an_integer_has_none() -> None:
    splits = coded({"train": _frame([("a", "r", "b")])})
    entities = by_appearance(splits, "subject", "object")
    assert entities.numbers(pl.Series(["b", "new", "a"])).tolist() == [1, NO_NUMBER, 0]


def test_a_numbering_needs_nobody_to_keep_its_code_book() -> None:
    """Code books of polars are dropped with their last column."""
    entities = by_appearance(coded({"train": _frame([("a", "r", "b")])}), "subject", "object")
    assert entities.numbers(pl.Series(["new", "b", "a"])).tolist() == [NO_NUMBER, 1, 0]


def test_integers_that_are_given_are_kept() -> None:
    splits = coded({"train": _frame([("a", "r", "b")])})
    numbering = as_given(pl.Series(["b", "c", "a"]), splits["train"]["subject"])
    assert numbering.numbers(splits["train"]["subject"]).tolist() == [2]
    assert np.array_equal(numbering.numbers(pl.Series(["c", "b"])), [1, 0])
