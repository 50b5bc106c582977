"""Lists of several retrievers: the k entities that stand highest in any of them, with what each says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cear.candidates import AllScores, Lists, Manifest, Retrievers, make_lists, union
from cear.core.context import Context
from cear.core.errors import ScoreError
from cear.core.types import NO_ENTITY, Queries
from cear.data import KnowledgeBase, KnownAnswers
from cear.retrieval import ComplExConfig, RowsConfig, RuleRetriever, RuleSettings, learn_rules


@pytest.fixture
def retrievers(towns: KnowledgeBase) -> Retrievers:
    """A Stage 1 that knows nothing, and rules beside it."""
    rules = RuleRetriever(learn_rules(towns.facts("train"), 30, 3, RuleSettings()))
    scorer = ComplExConfig(rank=4, embedding=RowsConfig(scale=0.5)).build(towns, Context(seed=5))
    return Retrievers(towns, scorer, {"rules": rules})


@pytest.fixture
def lists(towns: KnowledgeBase, retrievers: Retrievers) -> Lists:
    manifest = Manifest("towns", towns.digest, "train", 6, "keep", "random + rules")
    return make_lists(retrievers, towns.known("train").queries, manifest)


def test_lists_hold_the_best_of_each_retriever_once_in_stage_1s_order(retrievers: Retrievers, lists: Lists) -> None:
    for retriever in (retrievers.first, *retrievers.extra.values()):
        scores = retriever.score_all(lists.queries).detach().numpy()
        listed = np.take_along_axis(scores, lists.candidates.entities, axis=1)
        np.testing.assert_allclose(np.sort(listed)[:, -3:], np.sort(scores)[:, -3:], rtol=1e-5)
    assert all(len(set(entities)) == 6 for entities in lists.candidates.entities.tolist())
    assert (np.diff(lists.candidates.scores, axis=1) <= 0).all()


def test_extra_scores_are_what_the_others_say_of_the_listed(retrievers: Retrievers, lists: Lists) -> None:
    said = retrievers.extra["rules"].score_candidates(lists.queries, lists.candidates.entities)
    np.testing.assert_array_equal(lists.extra[..., 0], said.numpy())
    assert lists.extra.shape == (len(lists), 6, 1)
    assert lists.manifest.extra == ["rules"]


def test_nothing_beside_stage_1_is_stage_1(retrievers: Retrievers, lists: Lists) -> None:
    alone = Retrievers(retrievers.kb, retrievers.first).search(lists.queries, 5)
    same = Retrievers(retrievers.kb, retrievers.first, {"twin": retrievers.first}).search(lists.queries, 5)
    assert np.array_equal(alone.candidates.entities, same.candidates.entities)
    np.testing.assert_array_equal(same.extra_scores[..., 0], same.candidates.scores)
    assert alone.extra_scores.shape == (len(lists), 5, 0)


def test_lists_that_are_too_short_are_padded(retrievers: Retrievers, towns: KnowledgeBase) -> None:
    found = retrievers.search(towns.queries("test"), 30, drop=towns.known("train"))
    counts = towns.known("train").of_queries(towns.queries("test")).counts
    padded = found.candidates.entities == NO_ENTITY
    assert np.array_equal(padded.sum(axis=1), counts)
    assert np.isneginf(found.candidates.scores[padded]).all()
    assert np.isneginf(found.extra_scores[padded]).all()


def test_a_block_more_or_less_changes_nothing(retrievers: Retrievers, lists: Lists) -> None:
    whole, one = retrievers.search(lists.queries, 6), [retrievers.search(lists.queries[i : i + 1], 6) for i in range(9)]
    assert np.array_equal(np.concatenate([each.candidates.entities for each in one]), whole.candidates.entities[:9])
    np.testing.assert_allclose(
        np.concatenate([each.extra_scores for each in one]), whole.extra_scores[:9], rtol=1e-5, atol=1e-7
    )


def test_no_queries_have_no_lists(retrievers: Retrievers) -> None:
    nobody = Queries(np.zeros(0, np.int64), np.zeros(0, np.int64))
    found = retrievers.search(nobody, 4)
    assert (found.candidates.entities.shape, found.extra_scores.shape) == ((0, 4), (0, 4, 1))


def by_definition(tables: Any, known: set[int], k: int) -> set[int]:
    """Take everybody's first, then everybody's second, …, Stage 1 before the others, until there are k."""
    orders = [[e for e in np.argsort(-table, kind="stable").tolist() if e not in known] for table in tables]
    taken: list[int] = []
    for place in range(len(tables[0])):
        for order in orders:
            if place < len(order) and order[place] not in taken and len(taken) < k:
                taken.append(order[place])
    return set(taken)


@given(st.data(), st.integers(1, 8), st.integers(1, 3))
def test_the_union_is_who_stands_highest_in_any_ranking(data: st.DataObject, n: int, others: int) -> None:
    """Scores without ties within a ranking, for of ties any entity may be taken."""
    tables = np.array([data.draw(st.permutations(range(n))) for _ in range(1 + others)], np.float32)
    known = data.draw(arrays(np.bool_, n))
    k = data.draw(st.integers(1, n))
    facts = np.array([[0, 0, e] for e in np.flatnonzero(known)]).reshape(-1, 3)
    asked = Queries(np.zeros(1, np.int64), np.zeros(1, np.int64))
    found = union([AllScores(table[None], asked) for table in tables], k, KnownAnswers.of(facts, n, 1))
    entities = found.candidates.entities[0]
    listed = entities[entities != NO_ENTITY]
    expected = by_definition(tables, set(np.flatnonzero(known).tolist()), k)
    assert (len(entities), set(listed.tolist()), len(listed)) == (k, expected, len(expected))
    assert np.array_equal(found.candidates.scores[0, : len(listed)], np.sort(tables[0, listed])[::-1])
    for column, table in enumerate(tables[1:]):
        assert np.array_equal(found.extra_scores[0, : len(listed), column], table[listed])
    assert np.isneginf(found.extra_scores[0, len(listed) :]).all()


def test_scores_that_cannot_be_ranked_are_refused_whoever_gave_them(
    towns: KnowledgeBase, retrievers: Retrievers
) -> None:
    class Broken:
        n_entities = 30

        def score_all(self, queries: Queries, among: Any = None) -> torch.Tensor:
            return torch.full((len(queries), 30 if among is None else len(among)), torch.nan)

        def score_candidates(self, queries: Queries, entities: Any) -> torch.Tensor:
            return self.score_all(queries).gather(1, torch.from_numpy(entities))

    with pytest.raises(ScoreError, match="is nan"):
        Retrievers(towns, retrievers.first, {"broken": Broken()}).search(towns.queries("test"), 3)
