"""What training facts say of a question, counted by hand on five facts."""

from __future__ import annotations

import numpy as np
import pytest

from cear.completion import Counts, among, fact_keys
from cear.core.types import Queries
from cear.data import KnowledgeBase, Vocabulary

# A loves B and C, B loves A, D loves E and envies E.
A, B, C, D, E = range(5)
LOVES, ENVIES = 0, 1
TRAIN = [[A, LOVES, B], [A, LOVES, C], [B, LOVES, A], [D, LOVES, E], [D, ENVIES, E]]
# of_facts: known answers, usual, single, facts, degree of ⟨s, r, ?⟩; the same of ⟨?, r, o⟩; turned, linked, symmetric
KNOWN, DEGREE, KNOWN_HEAD, DEGREE_HEAD, TURNED, LINKED = 0, 4, 5, 9, 10, 11


def kb_of(train: list[list[int]], **others: list[list[int]]) -> KnowledgeBase:
    splits = {split: np.array(facts) for split, facts in {"train": train, **others}.items()}
    entities = Vocabulary.from_ids("entity", list("ABCDE"))
    return KnowledgeBase("lovers", entities, Vocabulary.from_ids("relation", ["loves", "envies"]), splits)


@pytest.fixture(scope="module")
def counts() -> Counts:
    return Counts(kb_of(TRAIN))


def of_fact(counts: Counts, *fact: int) -> list[float]:
    values: list[float] = counts.of_facts(np.array([fact]))[0].tolist()
    return values


class TestOfQueries:
    def test_whom_a_loves(self, counts: Counts) -> None:
        (found,) = counts.of_queries(Queries(np.array([A]), np.array([LOVES])))
        # 2 known; 4 facts of 3 lovers, two of whom love one; 4 facts of the relation; 3 facts touch A
        assert found.tolist() == pytest.approx([2, 4 / 3, 2 / 3, np.log(5), np.log(4)])

    def test_who_loves_b(self, counts: Counts) -> None:
        (found,) = counts.of_queries(Queries(np.array([B]), np.array([LOVES + 2])))
        assert found.tolist() == pytest.approx([1, 1, 1, np.log(5), np.log(3)]), "nobody is loved twice"

    def test_whom_nobody_speaks_of(self, counts: Counts) -> None:
        (found,) = counts.of_queries(Queries(np.array([C]), np.array([ENVIES])))
        assert found.tolist() == pytest.approx([0, 1, 1, np.log(2), np.log(2)])

    def test_a_relation_without_a_training_fact_counts_nothing(self) -> None:
        (found,) = Counts(kb_of(TRAIN[:4])).of_queries(Queries(np.array([A]), np.array([ENVIES])))
        assert found.tolist() == pytest.approx([0, 0, 0, 0, np.log(4)])


class TestOfFacts:
    def test_a_new_fact(self, counts: Counts) -> None:
        found = of_fact(counts, B, LOVES, C)
        assert found[KNOWN] == 1
        assert found[KNOWN_HEAD] == 1
        assert found[DEGREE] == pytest.approx(np.log(3))
        assert found[DEGREE_HEAD] == pytest.approx(np.log(2))
        assert found[TURNED:] == [False, False, 0.5], "B and C have no fact; two of four are told both ways"

    def test_a_training_fact_does_not_count_itself(self, counts: Counts) -> None:
        found = of_fact(counts, A, LOVES, B)
        assert found[KNOWN] == 1, "C is left"
        assert found[KNOWN_HEAD] == 0
        assert found[DEGREE] == pytest.approx(np.log(3))
        assert found[DEGREE_HEAD] == pytest.approx(np.log(2))

    @pytest.mark.parametrize(
        ("fact", "turned", "linked"),
        [
            ((A, LOVES, B), True, True),
            ((A, LOVES, C), False, False),
            ((D, LOVES, E), False, True),
            ((E, ENVIES, D), True, True),
            ((E, LOVES, A), False, False),
        ],
        ids=["both ways", "itself alone", "by another relation", "a new one turned round", "strangers"],
    )
    def test_turned_round_and_linked(
        self, counts: Counts, fact: tuple[int, int, int], turned: bool, linked: bool
    ) -> None:
        found = of_fact(counts, *fact)
        assert (found[TURNED], found[LINKED]) == (turned, linked)

    def test_who_loves_only_herself_is_not_told_the_other_way_round(self) -> None:
        found = of_fact(Counts(kb_of([[A, LOVES, A], [D, LOVES, E]])), A, LOVES, A)
        assert (found[KNOWN], found[TURNED], found[LINKED]) == (0, False, False)

    def test_validation_and_test_facts_are_not_counted(self, counts: Counts) -> None:
        more = Counts(kb_of(TRAIN, valid=[[B, LOVES, C], [C, LOVES, B]], test=[[E, ENVIES, D], [E, LOVES, A]]))
        facts = np.array([[s, r, o] for s in range(5) for r in range(2) for o in range(5)])
        assert np.array_equal(more.of_facts(facts), counts.of_facts(facts))


class TestKeys:
    def test_they_tell_all_facts_apart_and_sort_as_facts_do(self, counts: Counts) -> None:
        facts = np.array([[s, r, o] for s in range(5) for r in range(2) for o in range(5)])
        assert (np.diff(fact_keys(facts, counts.kb)) > 0).all()

    def test_which_are_among_given_facts(self, counts: Counts) -> None:
        keys = fact_keys(np.array([[A, LOVES, B], [B, LOVES, C], [D, ENVIES, E]]), counts.kb)
        assert among(keys, np.array(TRAIN), counts.kb).tolist() == [True, False, True]
        assert not among(keys, np.zeros((0, 3), np.int64), counts.kb).any()
