"""What the ranker reads: the lists that are measured; with a given answer in them only for who judges it."""

from __future__ import annotations

import numpy as np
import pytest

from cear.candidates import Retrievers
from cear.core.context import HERE
from cear.core.types import NO_ENTITY, Queries
from cear.data import KnowledgeBase
from cear.ranking import Ranker
from cear.retrieval import ComplExConfig, RuleRetriever, RuleSettings, candidate_scores, learn_rules

COUNTRY_B = 26


@pytest.fixture(scope="module", params=["alone", "with rules"])
def ranker(request: pytest.FixtureRequest, towns: KnowledgeBase) -> Ranker:
    complex_ = ComplExConfig.model_validate({"rank": 8, "embedding": {"scale": 0.3}}).build(towns, HERE)
    rules = RuleRetriever(learn_rules(towns.facts("train"), towns.n_entities, towns.n_relations, RuleSettings()))
    return Ranker(Retrievers(towns, complex_, {} if request.param == "alone" else {"rules": rules}), k=6)


@pytest.fixture(scope="module")
def queries(towns: KnowledgeBase) -> Queries:
    return towns.queries("test")


class TestRead:
    def test_it_orders_as_rank_does(self, ranker: Ranker, queries: Queries) -> None:
        reading = ranker.read(queries)
        order = np.argsort(-reading.final, axis=1)
        first = np.take_along_axis(reading.lists.candidates.entities, order, axis=1)[:, 0]
        assert np.array_equal(first, ranker.rank(queries, 1).entities[:, 0])

    @pytest.mark.parametrize("known", ["drop", "keep"])
    def test_training_answers_are_left_out_of_the_order(self, ranker: Ranker, towns: KnowledgeBase, known: str) -> None:
        asked = Queries(np.array([COUNTRY_B]), np.array([3]))  # who lies in Country B?
        everybody = Ranker(ranker.retrievers, k=30, known=known)  # type: ignore[arg-type]
        reading = everybody.read(asked)
        told = np.isin(reading.lists.candidates.entities, towns.known("train").of_queries(asked).row(0))
        assert told.sum() == (0 if known == "drop" else 3)
        assert np.isneginf(reading.final[told]).all()
        real = reading.lists.candidates.entities != NO_ENTITY
        assert np.isfinite(reading.final[real & ~told]).all()


class TestReadGiven:
    def test_a_given_answer_takes_the_last_place_of_a_list_that_lacks_it(
        self, ranker: Ranker, queries: Queries
    ) -> None:
        plain = ranker.read(queries).lists.candidates
        given = ranker.rank(queries, 30).entities[:, 25]
        reading = ranker.read_given(queries, given)
        entities = reading.lists.candidates.entities
        for row in range(len(queries)):
            assert given[row] not in plain.entities[row]
            assert set(entities[row]) == {*plain.entities[row][:-1], given[row]}
        assert (np.diff(reading.lists.candidates.scores, axis=1) <= 0).all(), "in Stage 1's order"
        scores = candidate_scores(ranker.retrievers.first, queries, entities)
        assert reading.lists.candidates.scores == pytest.approx(scores, abs=1e-5)
        assert reading.lists.extra.shape == (*entities.shape, len(ranker.retrievers.extra))

    def test_a_list_that_has_it_is_left_as_it_is(self, ranker: Ranker, queries: Queries) -> None:
        plain = ranker.read(queries)
        reading = ranker.read_given(queries, plain.lists.candidates.entities[:, 2])
        assert np.array_equal(reading.lists.candidates.entities, plain.lists.candidates.entities)
        assert np.array_equal(reading.final, plain.final)
        assert np.array_equal(reading.lists.extra, plain.lists.extra)

    def test_one_that_training_facts_tell_is_ordered_with_the_others(
        self, ranker: Ranker, towns: KnowledgeBase
    ) -> None:
        s, r, o = towns.facts("train").T
        reading = ranker.read_given(Queries(s, r), o)
        place = reading.lists.candidates.entities == o[:, None]
        assert (place.sum(axis=1) == 1).all()
        assert np.isfinite(reading.final[place]).all()
