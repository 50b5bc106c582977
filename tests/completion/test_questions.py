"""Which questions are asked: plausible ones, by hand, and those first that lack answers."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from cear.completion import Counts, Expectation, Questions, plausible, questions
from cear.core.types import Queries, Ragged
from cear.data import KnowledgeBase, Types, Vocabulary

BORN, WORKS = 0, 1
ASKED_BY = 2  # ⟨?, r, o⟩ is r + 2
ROME, OSLO, FIRM = 8, 9, 10
TRAIN = [[0, BORN, ROME], [1, BORN, ROME], [2, BORN, ROME], [3, BORN, OSLO], [0, WORKS, FIRM], [1, WORKS, FIRM]]
KNOWN = {(0, BORN), (1, BORN), (2, BORN), (3, BORN), (0, WORKS), (1, WORKS)}
KNOWN |= {(ROME, BORN + ASKED_BY), (OSLO, BORN + ASKED_BY), (FIRM, WORKS + ASKED_BY)}


def kb_of(types: Types | None = None, **splits: list[list[int]]) -> KnowledgeBase:
    """Four people of whom two work, four of whom nothing is known, two cities and a firm."""
    facts = {split: np.array(of_split) for split, of_split in {"train": TRAIN, **splits}.items()}
    entities = Vocabulary.from_ids("entity", [f"e{i}" for i in range(11)])
    return KnowledgeBase("people", entities, Vocabulary.from_ids("relation", ["born", "works"]), facts, types=types)


def asked(kb: KnowledgeBase, least_share: float) -> dict[tuple[int, int], float]:
    """Plausible questions with their evidence."""
    queries, evidence = plausible(kb, least_share)
    found = dict(zip(zip(queries.entity.tolist(), queries.relation.tolist(), strict=True), evidence, strict=True))
    assert len(found) == len(queries), "each once"
    return found


class TestPlausible:
    def test_what_is_known_and_what_enough_others_have(self) -> None:
        found = asked(kb_of(), 0.4)
        assert set(found) == KNOWN | {(2, WORKS), (3, WORKS)}, "2 of 4 who were born, and one more, have work"
        assert found[2, WORKS] == pytest.approx(-log(1 - 2 / 5))
        assert found[0, WORKS] == pytest.approx(-log(1 - 2 / 5)), "what is known is suggested all the same"
        assert found[0, BORN] == pytest.approx(-log(1 - 2 / 3))
        assert found[2, BORN] == found[ROME, BORN + ASKED_BY] == 0, "a relation does not suggest itself"

    def test_fewer_than_the_least_share_suggest_nothing(self) -> None:
        assert set(asked(kb_of(), 0.41)) == KNOWN

    def test_types_count_as_relations_do(self) -> None:
        people = Types(("person",), Ragged.of([[0]] * 6 + [[]] * 5))
        found = asked(kb_of(people), 0.5)
        assert set(found) == KNOWN | {(4, BORN), (5, BORN)}, "4 of 6 people, and one more, were born; 2 work"
        assert found[4, BORN] == pytest.approx(-log(1 - 4 / 7))
        assert found[0, BORN] == pytest.approx(-log(1 - 4 / 7) - log(1 - 2 / 3)), "two reasons add up"

    def test_it_sees_training_facts_alone(self) -> None:
        held_out = kb_of(valid=[[2, WORKS, FIRM], [4, BORN, OSLO]], test=[[3, WORKS, FIRM], [5, BORN, ROME]])
        assert asked(held_out, 0.1) == asked(kb_of(), 0.1)

    def test_they_are_the_same_however_they_are_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        people = Types(("person",), Ragged.of([[0]] * 6 + [[]] * 5))
        at_once = asked(kb_of(people), 0.1)
        monkeypatch.setattr(questions, "_MOST_PAIRS", 1)
        monkeypatch.setattr(questions, "_ENTITIES", 2)
        assert asked(kb_of(people), 0.1) == at_once
        assert set(asked(kb_of(people), 0.99)) == KNOWN, "no share of eleven entities is so large"

    def test_they_come_by_relation_and_entity(self) -> None:
        queries, _ = plausible(kb_of(), 0.4)
        keys = (queries.relation * 11 + queries.entity).tolist()
        assert keys == sorted(keys)


class TestQuestions:
    @pytest.fixture
    def questions(self) -> Questions:
        queries = Queries(np.array([0, 1, 8, 2, 0]), np.array([0, 0, 2, 1, 3]))
        return Questions(queries, np.zeros(5), np.array([0.2, 0.9, 0.9, 0.1, 0.9]))

    def test_the_best_keep_their_order_and_of_equal_ones_the_first_stay(self, questions: Questions) -> None:
        best = questions.best(2)
        assert best.queries.entity.tolist() == [1, 8]
        assert questions.best(4).expected.tolist() == [0.2, 0.9, 0.9, 0.9]
        assert len(questions.best(99)) == 5

    def test_those_of_a_relation_are_asked_from_both_ends(self, questions: Questions) -> None:
        assert questions.among([0], None, 2).queries.relation.tolist() == [0, 0, 2]

    def test_of_given_subjects_only_they_are_asked(self, questions: Questions) -> None:
        mine = questions.among(None, [0, 2], 2)
        assert (mine.queries.entity.tolist(), mine.queries.relation.tolist()) == ([0, 2], [0, 1])
        assert len(questions.among([1], [0], 2)) == 0

    def test_without_a_wish_it_is_all(self, questions: Questions) -> None:
        assert len(questions.among(None, None, 2)) == 5


CHILD = 1


@pytest.fixture(scope="module")
def family() -> Counts:
    """300 have a birthplace and two children in train; every second one lacks a third child."""
    n = 300
    train = [[i, BORN, 2 * n] for i in range(n)] + [[i, CHILD, n + (i + j) % n] for i in range(n) for j in (0, 1)]
    valid = [[i, CHILD, n + (i + 2) % n] for i in range(0, n, 2)]
    entities = Vocabulary.from_ids("entity", [f"e{i}" for i in range(2 * n + 1)])
    relations = Vocabulary.from_ids("relation", ["born", "child"])
    return Counts(KnowledgeBase("family", entities, relations, {"train": np.array(train), "valid": np.array(valid)}))


@pytest.fixture(scope="module")
def expected(family: Counts) -> Questions:
    return Expectation.learn(family, 0.1, 5, seed=0).questions(family, 0.1)


class TestExpectation:
    def test_it_expects_as_much_as_validation_lacked(self, expected: Questions) -> None:
        relation = expected.queries.relation
        born, child, _, child_of = (expected.expected[relation == each].mean() for each in range(4))
        assert child == pytest.approx(0.5, abs=0.05)
        assert child_of == pytest.approx(0.5, abs=0.05)
        assert born < 0.05
        assert BORN not in expected.best(600).queries.relation

    def test_the_questions_of_validation_facts_are_not_asked_sooner(self, family: Counts, expected: Questions) -> None:
        children = expected.queries.relation == CHILD
        missing = family.kb.known("valid").of_queries(expected.queries).counts > 0
        apart = expected.expected[children & missing].mean() / expected.expected[children & ~missing].mean()
        assert apart == pytest.approx(1, abs=0.05), "nothing but the held-out fact tells them apart"
