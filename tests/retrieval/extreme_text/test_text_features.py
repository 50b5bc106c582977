"""Words and pairs of words as numbers; the frequent answers of a relation, with and without a fact."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cear.core.types import NO_ENTITY, Ragged
from cear.data import KnowledgeBase
from cear.retrieval.extreme_text.config import TreeSettings
from cear.retrieval.extreme_text.examples import Examples
from cear.retrieval.extreme_text.frequent import FrequentAnswers
from cear.retrieval.extreme_text.texts import only, stacked, text_features


def features(*texts: str, buckets: int = 1000) -> list[list[int]]:
    found = text_features(pl.Series(texts), buckets=buckets)
    return [found.row(i).tolist() for i in range(len(found))]


class TestTextFeatures:
    def test_words_in_alphabetical_order_then_pairs(self) -> None:
        one, two, three = features("b a", "a", "a b")
        assert (one[:2], two, three[:2]) == ([1, 0], [0], [0, 1])
        assert len(one) == len(three) == 3
        assert one[2] != three[2], "pairs know the order"
        assert min(one[2], three[2]) >= 2, "a pair is not a word"

    def test_letter_case_and_punctuation_do_not_matter(self) -> None:
        one, two = features("New York!", "new-york")
        assert one == two

    def test_words_of_any_script(self) -> None:
        assert len(features("Zürich 北京 दिल्ली")[0]) == 5

    @pytest.mark.parametrize("text", ["?!", "", " "])
    def test_a_text_without_words_is_one_word_itself(self, text: str) -> None:
        assert features(text, "a") in ([[0], [1]], [[1], [0]])

    def test_no_pair_reaches_into_the_next_text(self) -> None:
        assert [len(row) for row in features("a b", "c d e", "f")] == [3, 5, 1]

    def test_pairs_share_as_many_numbers_as_there_are_buckets(self) -> None:
        texts = [f"w{i} w{j}" for i in range(12) for j in range(12)]
        pairs = {row[2] for row in features(*texts, buckets=7)}
        assert pairs == set(range(12, 19))


class TestRows:
    def test_stacked_rows_keep_their_values_apart(self) -> None:
        part = Ragged(np.array([0, 2, 3]), np.array([0, 4, 1]))
        both = stacked(part, part)
        assert [both.row(i).tolist() for i in range(4)] == [[0, 4], [1], [5, 9], [6]]

    def test_what_is_not_kept_goes_and_the_rest_is_numbered_anew(self) -> None:
        rows = Ragged(np.array([0, 2, 2, 5]), np.array([3, 0, 1, 3, 3]))
        left = only(rows, np.array([False, True, False, True]))
        assert [left.row(i).tolist() for i in range(3)] == [[1], [], [0, 1, 1]]


def count(facts: list[tuple[int, int]], n: int, n_relations: int = 3, n_entities: int = 9) -> FrequentAnswers:
    relation, answer = np.array(facts).reshape(-1, 2).T
    return FrequentAnswers.count(relation, answer, n=n, n_relations=n_relations, n_entities=n_entities)


class TestFrequentAnswers:
    FACTS = ((0, 4), (0, 4), (0, 4), (0, 2), (0, 2), (0, 7), (2, 5))

    def test_the_most_frequent_first_and_nothing_where_there_is_nothing(self) -> None:
        frequent = count([*self.FACTS], n=2)
        assert frequent.of(np.array([0, 1, 2])).tolist() == [[4, 2], [NO_ENTITY, NO_ENTITY], [5, NO_ENTITY]]

    def test_a_fact_does_not_tell_its_own_answer(self) -> None:
        assert count([*self.FACTS], n=2).without(np.array([2]), np.array([5])).tolist() == [[NO_ENTITY, NO_ENTITY]]

    def test_an_answer_that_other_facts_give_too_stays(self) -> None:
        assert count([*self.FACTS], n=2).without(np.array([0]), np.array([4])).tolist() == [[4, 2]]

    @given(
        facts=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 8)), min_size=1, max_size=40), n=st.integers(0, 4)
    )
    def test_without_a_fact_is_counting_all_others(self, facts: list[tuple[int, int]], n: int) -> None:
        relation, answer = np.array(facts).T
        found = count(facts, n).without(relation, answer)
        for i, (r, _) in enumerate(facts):
            others = Counter(o for j, (other, o) in enumerate(facts) if other == r and j != i)
            best = sorted(others, key=lambda o: (-others[o], o))[:n]
            assert set(found[i].tolist()) - {NO_ENTITY} == set(best)


class TestExamples:
    def test_only_training_facts_are_read(self, towns: KnowledgeBase) -> None:
        poisoned = KnowledgeBase("p", towns.entities, towns.relations, {"train": towns.facts("train")})
        one, other = (Examples.of(kb, "tail", TreeSettings()) for kb in (towns, poisoned))
        assert np.array_equal(one.texts.features.values, other.texts.features.values)
        assert np.array_equal(one.texts.frequent, other.texts.frequent)
        assert np.array_equal(one.answer, towns.facts("train")[:, 2])

    def test_heads_are_asked_with_tails(self, towns: KnowledgeBase) -> None:
        examples = Examples.of(towns, "head", TreeSettings())
        assert np.array_equal(examples.entity, towns.facts("train")[:, 2])
        assert np.array_equal(examples.answer, towns.facts("train")[:, 0])

    def test_a_query_is_its_entity_its_relation_and_frequent_answers(self, towns: KnowledgeBase) -> None:
        examples = Examples.of(towns, "tail", TreeSettings(frequent=2))
        rows = examples.rows(np.array([0]))
        (s, r, _), n = towns.facts("train")[0], towns.n_entities
        assert rows[0, :2].tolist() == [s, n + r]
        assert ((rows[0, 2:] >= n + 3) & (rows[0, 2:] < n + 3 + n)).all()

    def test_features_that_no_training_query_has_are_left_out(self, towns: KnowledgeBase) -> None:
        """Countries are no subject of any fact, so the word "country" has no vector in that role."""
        examples = Examples.of(towns, "tail", TreeSettings())
        assert len(examples.texts.features.row(27)) == 0
        assert len(examples.texts.features.row(30 + 3 + 27)) > 0, "but it has one among frequent answers"
