"""What a retriever says of a block of queries, held or asked for: against sorting everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cear.candidates import AllScores, SearchedScores, score_block
from cear.core.types import NO_ENTITY, Candidates, Ints, Queries
from cear.data import KnownAnswers
from cear.retrieval import top_k


class Table:
    """A retriever whose scores are written down, (entity that is asked about, entity); it has one relation."""

    def __init__(self, scores: Any) -> None:
        self._scores = torch.as_tensor(scores, dtype=torch.float32)
        self.n_entities = self._scores.shape[1]

    def score_all(self, queries: Queries, among: Ints | None = None) -> torch.Tensor:
        scores = self._scores[torch.from_numpy(queries.entity)]
        return scores if among is None else scores[:, torch.from_numpy(among)]

    def score_candidates(self, queries: Queries, entities: Ints) -> torch.Tensor:
        return self.score_all(queries).gather(1, torch.from_numpy(entities))


class Searching(Table):
    """The same, which finds its best by itself."""

    def top_k(self, queries: Queries, k: int, **settings: Any) -> Candidates:
        return top_k(Table(self._scores), queries, k, **settings)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Any, KnownAnswers, Ints]:
    """Scores with many ties, what is known, and some entities to ask about, a few of them pads."""
    n = draw(st.integers(2, 8))
    scores = draw(arrays(np.float32, (n, n), elements=st.integers(0, 4).map(float)))
    known = draw(arrays(np.bool_, (n, n)))
    facts = np.argwhere(known)
    answers = KnownAnswers.of(np.insert(facts, 1, 0, axis=1), n, 1)
    k = draw(st.integers(1, n))
    orders = [draw(st.permutations([*range(n), NO_ENTITY]))[:k] for _ in range(n)]
    return scores, answers, np.array(orders)


def queries_of(scores: Any) -> Queries:
    return Queries(np.arange(len(scores)), np.zeros(len(scores), np.int64))


def ranks_by_sorting(scores: Any, known: KnownAnswers, entities: Ints) -> list[list[int]]:
    """One more than the place of a score among all others, in descending order, that are not known."""
    rows = known.of_queries(queries_of(scores))
    ranks = []
    for row, asked in enumerate(entities.tolist()):
        others = sorted((s for e, s in enumerate(scores[row]) if e not in rows.row(row)), reverse=True)
        places = [next((i for i, s in enumerate(others) if s <= scores[row][e]), len(others)) for e in asked]
        ranks.append([0 if e == NO_ENTITY else 1 + place for e, place in zip(asked, places, strict=True)])
    return ranks


@given(worlds())
def test_ranks_are_those_of_sorting_everything(world: tuple[Any, KnownAnswers, Ints]) -> None:
    scores, known, entities = world
    found = AllScores(scores, queries_of(scores)).ranks(entities, known)
    assert found.tolist() == ranks_by_sorting(scores, known, entities)


@given(worlds())
def test_asked_for_they_are_the_same_as_held(world: tuple[Any, KnownAnswers, Ints]) -> None:
    scores, known, entities = world
    asked = queries_of(scores)
    held, searched = AllScores(scores, asked), SearchedScores(Searching(scores), asked)
    assert np.array_equal(held.of(entities), searched.of(entities))
    for drop in (None, known):
        one, other = (each.best(entities.shape[1], drop) for each in (held, searched))
        assert np.array_equal(one.scores, other.scores), "the same scores; of ties either entity"
        assert np.array_equal(searched.of(other.entities), other.scores)
    ranks = searched.ranks(entities, known)
    seen = ranks != 0
    assert np.array_equal(ranks[seen], held.ranks(entities, known)[seen])
    best = searched.best(entities.shape[1], known).entities
    for row in range(len(entities)):
        assert np.array_equal(seen[row], np.isin(entities[row], best[row]) & (entities[row] != NO_ENTITY))


def test_of_a_pad_is_minus_infinity() -> None:
    scores = np.array([[1.0, 2.0]])
    for scored in (AllScores(scores, queries_of(scores)), SearchedScores(Table(scores), queries_of(scores))):
        assert scored.of(np.array([[1, NO_ENTITY, 0]])).tolist() == [[2.0, -np.inf, 1.0]]


@pytest.mark.parametrize(("retriever", "kind"), [(Table, AllScores), (Searching, SearchedScores)])
def test_who_searches_by_itself_is_asked_and_everybody_else_scores_once(retriever: Any, kind: Any) -> None:
    assert isinstance(score_block(retriever(np.eye(3)), queries_of(np.eye(3))), kind)


def test_more_entities_than_memory_holds_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cear.candidates.scored.BUDGET", 4 * 3 * 64 - 1)
    assert isinstance(score_block(Table(np.eye(3)), queries_of(np.eye(3))), SearchedScores)
