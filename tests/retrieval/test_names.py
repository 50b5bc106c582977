"""Names as numbers of words: which words have one of their own, and that only training facts decide it."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from cear.core.types import Ints, Split
from cear.data import KnowledgeBase, Vocabulary
from cear.retrieval.embeddings.names import UNKNOWN, Names, Words

FACTS = np.array([[0, 0, 1], [0, 0, 2], [1, 1, 2]])


def kb_of(**splits: Ints) -> KnowledgeBase:
    names = ["New York", "york (old)", "Rome", "new Rome", "Atlantis", "?!"]
    entities = Vocabulary.from_ids("entity", [*"abcdef"], names=names)
    relations = Vocabulary.from_ids("relation", ["is near", "is far from here"])
    facts: dict[Split, Ints] = {"train": FACTS} | splits  # type: ignore[assignment]
    return KnowledgeBase("cities", entities, relations, facts)


def test_words_on_paper() -> None:
    # Uses in facts: new 2, york 2 + 2, old 2, rome 2; the last three names are in no training fact.
    words = Names.of(kb_of(), tokens=10, min_count=2).entities
    marks, atlantis, new, old, rome, york = range(1, 7)
    assert words.tokens.tolist() == [[new, york], [york, old], [rome, 0], [new, rome], [atlantis, 0], [marks, 0]]
    assert words.lengths.tolist() == [2, 2, 1, 2, 1, 1]
    assert np.flatnonzero(words.known).tolist() == [new, old, rome, york]


def test_a_word_that_is_used_less_often_is_not_known() -> None:
    words = Names.of(kb_of(), tokens=10, min_count=3).entities
    york = words.tokens[0, 1]
    assert np.flatnonzero(words.known).tolist() == [york]
    assert not words.known[UNKNOWN]


def test_relations_stand_forwards_and_then_backwards_after_a_mark() -> None:
    words = Names.of(kb_of(), tokens=10, min_count=1).relations
    # Words by letter after the mark: far, from, here, is, near.
    mark, far, origin, here, verb, near = range(1, 7)
    assert words.tokens.tolist() == [
        [verb, near, 0, 0, 0],
        [verb, far, origin, here, 0],
        [mark, verb, near, 0, 0],
        [mark, verb, far, origin, here],
    ]
    assert words.lengths.tolist() == [2, 4, 3, 5]


def test_names_are_cut_and_the_mark_does_not_count() -> None:
    names = Names.of(kb_of(), tokens=1, min_count=1)
    assert names.entities.lengths.tolist() == [1] * 6
    assert names.relations.lengths.tolist() == [1, 1, 2, 2]


def test_only_training_facts_decide_what_is_known_and_numbers_depend_on_no_fact() -> None:
    poison = np.array([[4, 1, 3], [4, 1, 5], [4, 0, 5]])
    one, poisoned, other = (
        Names.of(kb, tokens=10, min_count=2) for kb in (kb_of(), kb_of(valid=poison, test=poison), kb_of(train=poison))
    )
    for kind in ("entities", "relations"):
        mine, same, its = (getattr(names, kind) for names in (one, poisoned, other))
        assert np.array_equal(mine.known, same.known)
        assert np.array_equal(mine.tokens, same.tokens)
        assert np.array_equal(mine.tokens, its.tokens), "so that weights of a fold fit the whole"
    assert not np.array_equal(one.entities.known, other.entities.known)


@given(
    st.lists(st.tuples(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), st.integers(0, 3)), min_size=1),
    st.integers(1, 4),
)
def test_numbers_are_words_again(names: list[tuple[list[str], int]], min_count: int) -> None:
    lists, uses = [words for words, _ in names], np.array([count for _, count in names])
    words = Words.of(pl.Series(lists, dtype=pl.List(pl.String)), uses, min_count=min_count)
    spelled = ["", *sorted({word for name in lists for word in name})]
    for name, row, length in zip(lists, words.tokens, words.lengths, strict=True):
        assert [spelled[number] for number in row[:length]] == name
        assert not row[length:].any()
    total = [sum(count * name.count(word) for name, count in names) for word in spelled]
    assert words.known.tolist() == [word != "" and uses >= min_count for word, uses in zip(spelled, total, strict=True)]
