"""Corruptions: one place replaced, nothing that is known, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from cear.core.types import NO_ENTITY, Queries
from cear.data import KnowledgeBase, KnownAnswers
from cear.retrieval import DrawnCandidates, draw_training
from cear.retrieval.kg_bert.drawing import draw_held_out


def as_set(facts: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(fact) for fact in facts.tolist()}


def test_every_training_fact_is_there_once_with_one_of_its_ends_replaced(towns: KnowledgeBase) -> None:
    drawn = draw_training(towns, 5, seed=1)
    judged = drawn.judged(towns.n_relations)
    true, false = judged.facts[judged.true], judged.facts[~judged.true]
    assert as_set(true) == as_set(towns.facts("train"))
    assert len(true) == len(towns.facts("train"))
    assert not as_set(false) & as_set(towns.facts("train"))
    assert {*drawn.queries.relation // towns.n_relations} == {0, 1}, "both ends are replaced"
    owner = np.repeat(np.arange(len(true)), (drawn.entities != NO_ENTITY).sum(axis=1))[~judged.true]
    kept = (false == towns.facts("train")[owner]).sum(axis=1)
    assert (kept == 2).all()


def test_what_is_known_or_drawn_twice_is_left_out() -> None:
    known = KnownAnswers.of(np.array([[0, 0, 1], [0, 0, 2]]), 4, 1)
    drawn = DrawnCandidates.of(
        Queries(np.zeros(1, np.int64), np.zeros(1, np.int64)), np.array([1]), known, 4, 50, seed=0
    )
    assert drawn.entities[0].tolist() == [0, 1, 3] + [NO_ENTITY] * 48


def test_the_place_of_an_answer_says_nothing(towns: KnowledgeBase) -> None:
    drawn = draw_training(towns, 5, seed=1)
    real = [row[row != NO_ENTITY] for row in drawn.entities]
    assert all((np.diff(row) > 0).all() for row in real)
    assert all((row[len(kept) :] == NO_ENTITY).all() for row, kept in zip(drawn.entities, real, strict=True))


def test_a_seed_decides(towns: KnowledgeBase) -> None:
    one, again, other = (draw_training(towns, 3, seed=seed).entities for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("facts", [None, 4])
def test_held_out_facts_are_asked_from_both_ends(towns: KnowledgeBase, facts: int | None) -> None:
    drawn = draw_held_out(towns, "valid", 9, facts=facts, seed=0)
    judged = drawn.judged(towns.n_relations)
    expected = facts or len(towns.facts("valid"))
    assert len(drawn.queries) == 2 * expected
    assert judged.true.sum() == 2 * expected
    known = as_set(towns.facts("train")) | as_set(towns.facts("valid"))
    assert not as_set(judged.facts[~judged.true]) & known
