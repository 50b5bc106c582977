"""Candidate lists: made from scores alone, labelled from the answers that are handed in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from cear.candidates import (
    Known,
    Lists,
    Manifest,
    Retrievers,
    distinct_lists,
    joined,
    labels,
    make_lists,
    sample_queries,
)
from cear.core.context import Context
from cear.core.errors import MismatchError
from cear.core.types import NO_ENTITY, Candidates, Ints, Queries
from cear.data import KnowledgeBase
from cear.retrieval import ComplExConfig, RowsConfig, Scorer

MANIFEST = Manifest("towns", "digest", "train", 3, "keep", "nobody")


def lists_of(entity: list[int], relation: list[int], entities: list[list[int]]) -> Lists:
    """Lists whose scores are 0, -1, -2 …, and -inf where padded."""
    found = np.array(entities)
    scores = np.where(found == NO_ENTITY, -np.inf, -np.arange(found.shape[1]))
    return Lists(Queries(np.array(entity), np.array(relation)), Candidates(found, scores), MANIFEST)


def make(scorer: Scorer, kb: KnowledgeBase, queries: Queries, *, k: int, known: Known) -> Lists:
    """Lists of Stage 1 alone."""
    manifest = Manifest(kb.name, kb.digest, "test", k, known, "complex")
    return make_lists(Retrievers(kb, scorer), queries, manifest)


@pytest.fixture
def scorer(towns: KnowledgeBase) -> Scorer:
    return ComplExConfig(rank=4, embedding=RowsConfig(scale=0.5)).build(towns, Context())


class TestSampling:
    def test_a_sample_is_some_of_the_queries_each_once_in_their_order(self) -> None:
        queries = Queries(np.arange(50), np.arange(50) % 6)
        sample = sample_queries(queries, 7, seed=1)
        assert len(sample) == 7
        assert (np.diff(sample.entity) > 0).all()
        assert np.array_equal(sample.relation, sample.entity % 6)
        assert np.array_equal(sample.entity, sample_queries(queries, 7, seed=1).entity)
        assert not np.array_equal(sample.entity, sample_queries(queries, 7, seed=2).entity)

    @pytest.mark.parametrize("n", [None, 50, 51])
    def test_no_more_than_there_are(self, n: int | None) -> None:
        queries = Queries(np.arange(50), np.zeros(50, np.int64))
        assert sample_queries(queries, n, seed=0) is queries


class TestMaking:
    def test_a_query_that_several_facts_ask_is_looked_up_once(self, towns: KnowledgeBase, scorer: Scorer) -> None:
        class Counting:
            n_entities, asked = 30, 0

            def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
                self.asked += len(queries)
                return scorer.score_all(queries, among)

            def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
                return scorer.score_candidates(queries, entities)

        queries, counting = towns.queries("test"), Counting()
        twice = Queries(np.tile(queries.entity, 2), np.tile(queries.relation, 2))
        manifest = Manifest(towns.name, towns.digest, "test", 5, "drop", "complex")
        made = make_lists(Retrievers(towns, counting), twice, manifest)
        assert counting.asked == len(set(zip(queries.entity, queries.relation, strict=True)))
        expected = make(scorer, towns, queries, k=5, known="drop").candidates.entities
        assert np.array_equal(made.candidates.entities, np.tile(expected, (2, 1)))

    def test_the_best_k_as_scored_in_rank_order(self, towns: KnowledgeBase, scorer: Scorer) -> None:
        queries = towns.queries("test")
        made = make(scorer, towns, queries, k=7, known="keep")
        scores = scorer.score_all(queries).detach().numpy()
        best = np.argsort(-scores, axis=1)[:, :7]
        assert np.array_equal(made.candidates.entities, best)
        np.testing.assert_allclose(made.candidates.scores, np.take_along_axis(scores, best, axis=1), rtol=1e-5)
        assert made.manifest == Manifest("towns", towns.digest, "test", 7, "keep", "complex")

    def test_dropping_gives_the_slots_of_training_answers_to_others(self, towns: KnowledgeBase, scorer: Scorer) -> None:
        queries = towns.queries("test")
        keep, drop = (
            make(scorer, towns, queries, k=30, known=known)  # type: ignore[arg-type]
            for known in ("keep", "drop")
        )
        train = towns.known("train").of_queries(queries)
        for row in range(len(queries)):
            everybody = keep.candidates.entities[row]
            left = everybody[~np.isin(everybody, train.row(row))]
            padded = np.full(30 - len(left), NO_ENTITY)
            assert np.array_equal(drop.candidates.entities[row], [*left, *padded])
        assert len(train.values), "there is something to drop"

    def test_held_out_answers_are_candidates_like_any_other(self, towns: KnowledgeBase, scorer: Scorer) -> None:
        made = make(scorer, towns, towns.queries("test"), k=30, known="drop")
        assert labels(made, towns.known("test")).any(axis=1).all()

    def test_a_list_is_no_longer_than_there_are_entities(self, towns: KnowledgeBase, scorer: Scorer) -> None:
        made = make(scorer, towns, towns.queries("test"), k=500, known="keep")
        assert made.candidates.k == made.manifest.k == 30


class TestLists:
    def test_every_query_has_exactly_one(self) -> None:
        three = lists_of([0, 1, 2], [0, 0, 0], [[1], [2], [0]])
        with pytest.raises(MismatchError, match="3 lists for 2 queries"):
            Lists(three.queries[:2], three.candidates, MANIFEST)

    def test_some_of_them_keep_queries_and_candidates_together(self) -> None:
        some = lists_of([7, 8, 9], [0, 1, 2], [[1, 2], [3, 4], [5, 6]])[np.array([2, 0])]
        assert some.queries.entity.tolist() == [9, 7]
        assert some.queries.relation.tolist() == [2, 0]
        assert some.candidates.entities.tolist() == [[5, 6], [1, 2]]
        assert some.extra.shape == (2, 2, 0), "nobody beside Stage 1"

    def test_extra_scores_stay_with_their_candidates(self) -> None:
        plain = lists_of([7, 8, 9], [0, 1, 2], [[1, 2], [3, 4], [5, 6]])
        extra = np.arange(6.0).reshape(3, 2, 1)
        lists = Lists(plain.queries, plain.candidates, MANIFEST, extra)
        assert lists[np.array([2, 0])].extra[..., 0].tolist() == [[4, 5], [0, 1]]
        assert joined([lists[:1], lists[1:]]).extra[..., 0].tolist() == extra[..., 0].tolist()
        once, place = distinct_lists(joined([lists, lists]))
        assert once[place].extra[..., 0].tolist() == extra[..., 0].tolist() * 2


class TestLabels:
    def test_by_hand(self, towns: KnowledgeBase) -> None:
        # Town 1 lies in Country B (26): a training fact. Town 0 in Country A (25) is held out, Town 3 in D, too.
        lists = lists_of([1, 0, 3], [0, 0, 0], [[26, 25, 4], [25, 26, 4], [28, NO_ENTITY, NO_ENTITY]])
        assert labels(lists, towns.known("train")).tolist() == [[True, False, False], [False] * 3, [False] * 3]
        assert labels(lists, towns.known("valid")).tolist() == [[False] * 3, [True, False, False], [False] * 3]

    def test_a_query_that_asks_for_the_head(self, towns: KnowledgeBase) -> None:
        # ⟨?, lies in, Country B⟩: towns 1, 6, 11, 16, 21; of these, facts 6 (valid) and 21 (test) are held out.
        lists = lists_of([26], [3], [[1, 2, 6, 11, 16, 21]])
        assert labels(lists, towns.known("train")).tolist() == [[True, False, False, True, True, False]]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.permutations([4, 5])), min_size=1, max_size=12))
def test_each_different_list_is_there_once(rows: list[tuple[int, int, list[int]]]) -> None:
    lists = lists_of([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])
    once, place = distinct_lists(lists)
    assert len(once) == len({(e, r, *found) for e, r, found in rows})
    again = once[place]
    assert np.array_equal(again.queries.entity, lists.queries.entity)
    assert np.array_equal(again.queries.relation, lists.queries.relation)
    assert np.array_equal(again.candidates.entities, lists.candidates.entities)
