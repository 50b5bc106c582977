"""Batches: every distinct query once an epoch, all its answers, the same ones whenever it is asked again."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cear.core.types import Queries, Ragged
from cear.data import KnowledgeBase, KnownAnswers
from cear.retrieval.batches import Batch, TrainingQueries, subsampling_weights

N_ENTITIES, N_RELATIONS = 12, 3
CPU = torch.device("cpu")


def known_of(seed: int, n_facts: int = 40) -> KnownAnswers:
    facts = np.random.default_rng(seed).integers(0, [N_ENTITIES, N_RELATIONS, N_ENTITIES], (n_facts, 3))
    return KnownAnswers.of(facts, N_ENTITIES, N_RELATIONS)


def dealer(known: KnownAnswers, *, size: int = 7, negatives: int | None = None, seed: int = 0) -> TrainingQueries:
    return TrainingQueries(known, N_ENTITIES, size=size, negatives=negatives, seed=seed)


def content(batch: Batch) -> tuple[list[list[int]], list[int] | None]:
    return batch.facts.tolist(), None if batch.among is None else batch.among.tolist()


@given(st.integers(0, 1000), st.integers(1, 60), st.integers(0, 5))
@settings(max_examples=30, deadline=None)
def test_an_epoch_holds_every_fact_of_every_distinct_query_once(seed: int, size: int, epoch: int) -> None:
    known = known_of(seed)
    batches = list(dealer(known, size=size).epoch(epoch))
    asked = Counter((e, r) for b in batches for e, r in zip(b.queries.entity, b.queries.relation, strict=True))
    assert set(asked.values()) == {1}
    assert len(asked) == len(known.queries)
    facts = sorted(tuple(fact) for batch in batches for fact in batch.facts.tolist())
    rows = known.answers.rows
    everything = zip(known.queries.entity[rows], known.queries.relation[rows], known.answers.values, strict=True)
    assert facts == sorted((int(s), int(r), int(o)) for s, r, o in everything)


def test_the_answers_of_a_query_are_all_its_training_answers_in_both_directions(towns: KnowledgeBase) -> None:
    batches = TrainingQueries(towns.known("train"), towns.n_entities, size=10, negatives=None, seed=0).epoch(0)
    country_a = next(e for e in range(towns.n_entities) if towns.entities.id(e) == "c0")
    asks_for_towns = 0 + towns.n_relations  # ⟨?, lies in, country⟩
    found = [
        batch.answers.row(place).tolist()
        for batch in batches
        for place in np.flatnonzero((batch.queries.entity == country_a) & (batch.queries.relation == asks_for_towns))
    ]
    expected = [s for s, r, o in towns.facts("train").tolist() if r == 0 and o == country_a]
    assert found == [sorted(expected)]
    assert len(expected) > 1


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_length_is_the_number_of_batches(size: int) -> None:
    queries = dealer(known_of(0), size=size)
    assert len(queries) == len(list(queries.epoch(0)))


@pytest.mark.parametrize("negatives", [None, 4])
@pytest.mark.parametrize("first", [0, 1, 3, 99])
def test_an_epoch_begun_in_its_middle_has_the_batches_of_the_whole(first: int, negatives: int | None) -> None:
    queries = dealer(known_of(1), negatives=negatives)
    whole = [content(batch) for batch in queries.epoch(2)]
    assert len(whole) > 4
    assert [content(batch) for batch in queries.epoch(2, first=first)] == whole[first:]


def test_seed_and_epoch_decide_and_nothing_else_does() -> None:
    known = known_of(2)
    one, same = dealer(known, negatives=4, seed=5), dealer(known, negatives=4, seed=5)
    list(same.epoch(0))  # what was dealt before leaves no trace
    assert [content(b) for b in one.epoch(3)] == [content(b) for b in same.epoch(3)]
    assert [content(b) for b in one.epoch(3)] != [content(b) for b in one.epoch(4)]
    assert [content(b) for b in one.epoch(3)] != [content(b) for b in dealer(known, negatives=4, seed=6).epoch(3)]


class TestCompetitors:
    @given(st.integers(0, 1000), st.integers(1, N_ENTITIES - 1))
    @settings(max_examples=30, deadline=None)
    def test_all_answers_compete_and_cells_point_at_them(self, seed: int, negatives: int) -> None:
        for batch in dealer(known_of(seed), negatives=negatives).epoch(0):
            assert batch.among is not None
            assert np.isin(batch.answers.values, batch.among).all()
            assert (np.diff(batch.among) > 0).all(), "ascending, nobody twice"
            assert negatives <= len(batch.among) <= negatives + len(batch.answers.values)
            rows, columns = batch.cells(CPU)
            assert np.array_equal(batch.among[columns.numpy()], batch.answers.values)
            assert np.array_equal(rows.numpy(), batch.answers.rows)

    def test_each_step_draws_its_own(self) -> None:
        known = KnownAnswers.of(np.array([[0, 0, 1], [2, 0, 3], [4, 0, 5]]), 1000, 1)
        queries = TrainingQueries(known, 1000, size=1, negatives=20, seed=0)
        samples = {tuple(batch.among) for batch in queries.epoch(0) if batch.among is not None}
        assert len(samples) == len(queries) == 6

    @pytest.mark.parametrize("negatives", [None, N_ENTITIES, N_ENTITIES + 5])
    def test_as_many_as_there_are_entities_means_everybody(self, negatives: int | None) -> None:
        assert all(batch.among is None for batch in dealer(known_of(0), negatives=negatives).epoch(0))


def test_a_batch_lists_its_facts_and_counts_on_paper() -> None:
    queries = Queries(np.array([3, 8]), np.array([0, 5]))
    batch = Batch(queries, Ragged(np.array([0, 2, 3]), np.array([4, 7, 1])), np.array([1, 4, 6, 7]))
    assert batch.facts.tolist() == [[3, 0, 4], [3, 0, 7], [8, 5, 1]]
    assert [part.tolist() for part in batch.cells(CPU)] == [[0, 0, 1], [1, 3, 0]]
    assert batch.counts(CPU).tolist() == [2.0, 1.0]


def test_subsampling_weighs_a_fact_by_the_answers_of_its_two_questions() -> None:
    # ⟨0, r, ?⟩ has two answers, ⟨?, r, 1⟩ three; of the two relations only the first has facts.
    known = KnownAnswers.of(np.array([[0, 0, 1], [0, 0, 2], [3, 0, 1], [4, 0, 1]]), 5, 2)
    weights = dict(
        zip(
            zip(known.queries.entity[known.answers.rows], known.answers.values, strict=True),
            subsampling_weights(known, 2),
            strict=True,
        )
    )
    assert weights[0, 1] == weights[1, 0] == pytest.approx(1 / math.sqrt(2 + 3 + 8))
    assert weights[0, 2] == weights[2, 0] == pytest.approx(1 / math.sqrt(2 + 1 + 8))
    assert weights[3, 1] == weights[1, 3] == pytest.approx(1 / math.sqrt(1 + 3 + 8))


def test_the_weights_of_a_batch_are_those_of_its_facts(towns: KnowledgeBase) -> None:
    known = towns.known("train")
    every = subsampling_weights(known, 3)
    place = {(e, r): i for i, (e, r) in enumerate(zip(known.queries.entity, known.queries.relation, strict=True))}
    for batch in TrainingQueries(known, 30, size=7, negatives=None, seed=1, weights=every).epoch(0):
        assert batch.weights is not None
        rows = [place[e, r] for e, r in zip(batch.queries.entity, batch.queries.relation, strict=True)]
        offsets = known.answers.offsets
        assert np.array_equal(batch.weights, np.concatenate([every[offsets[i] : offsets[i + 1]] for i in rows]))


class TestParts:
    """A batch in parts: nobody is lost, nobody counts twice, and everybody competes in each of them."""

    @given(st.integers(0, 1000), st.integers(1, 12), st.booleans())
    @settings(max_examples=30, deadline=None)
    def test_they_hold_the_facts_and_weights_of_the_whole(self, seed: int, parts: int, weighed: bool) -> None:
        known = known_of(seed)
        weights = subsampling_weights(known, N_RELATIONS) if weighed else None
        batch = next(TrainingQueries(known, N_ENTITIES, size=7, negatives=4, seed=0, weights=weights).epoch(0))
        split = batch.split(parts)
        assert len(split) == min(parts, len(batch.queries))
        assert np.array_equal(np.concatenate([part.facts for part in split]), batch.facts)
        assert sum(part.weight for part in split) == pytest.approx(batch.weight)
        assert all(part.among is batch.among for part in split)
        if weighed:
            assert np.array_equal(np.concatenate([part.weights for part in split]), batch.weights)
