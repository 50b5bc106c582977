"""Words to integers, by first appearance."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cear.core.types import Split
from cear.data.draft import FACT
from cear.data.numbering import NO_NUMBER, as_given, by_appearance, coded, places

words = st.sampled_from(["a", "b", "ä", "a b", "ccccccccccccccccccccc", "d"])
fact_lists = st.lists(st.tuples(words, words, words), min_size=1, max_size=12)


def _frame(facts: list[tuple[str, str, str]]) -> pl.DataFrame:
    return pl.DataFrame(facts, schema=dict.fromkeys(FACT, pl.String), orient="row")


@given(train=fact_lists, test=fact_lists)
def test_integers_are_those_of_a_dictionary_filled_line_by_line(
    train: list[tuple[str, str, str]], test: list[tuple[str, str, str]]
) -> None:
    splits: dict[Split, pl.DataFrame] = {"train": _frame(train), "test": _frame(test)}
    entities = by_appearance(splits, "subject", "object")
    assert entities.words.to_list() == list(dict.fromkeys(word for s, _, o in train + test for word in (s, o)))
    ends = [(entities.words[s], entities.words[o]) for s, o in entities.columns["test"].tolist()]
    assert ends == [(s, o) for s, _, o in test]


def test_integers_that_are_given_are_kept() -> None:
    numbered = as_given(pl.Series(["b", "c", "a"]), {"train": _frame([("a", "r", "b")])}, "subject", "object")
    assert numbered.columns["train"].tolist() == [[2, 0]]
    assert numbered.words.to_list() == ["b", "c", "a"]


def test_a_word_that_is_not_there_has_no_place() -> None:
    assert places(pl.Series(["b", "new", "a"]), pl.Series(["a", "b"])).tolist() == [1, NO_NUMBER, 0]


def test_words_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in ten million readings of OLPBENCH's size; here the first seed gives every word the same hash."""
    true_hash, seeds = pl.Series.hash, []

    def clumsy(self: pl.Series, seed: int = 0) -> pl.Series:
        seeds.append(seed)
        return true_hash(self, seed) * (0 if seed == 0 else 1)

    monkeypatch.setattr(pl.Series, "hash", clumsy)
    result = coded(pl.Series(["a", "b", "a", "c"]))
    assert [result.distinct[int(code)] for code in result.codes] == ["a", "b", "a", "c"]
    assert seeds == [0, 1]
