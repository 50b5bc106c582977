"""The paired test of two systems."""

from dataclasses import replace

import numpy as np
import pytest

from cear.core.errors import MismatchError
from cear.core.types import Queries, Ranks
from cear.evaluation import compare, evaluate
from cear.evaluation.resampling import Clusters, sign_flip_means


@pytest.fixture
def evaluation(random_kb, scorer_for):
    kb = random_kb(n_facts=800)
    return evaluate(scorer_for(kb), kb, "test")


def with_ranks(evaluation, ranks):
    above = np.asarray(ranks, np.int64) - 1
    return replace(evaluation, ranks=Ranks(above, np.zeros_like(above)))


def test_a_system_does_not_differ_from_itself(evaluation):
    for difference in compare(evaluation, evaluation).values():
        assert (difference.difference, difference.low, difference.high, difference.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_clear_gain_is_found_with_its_sign(evaluation):
    worse, better = with_ranks(evaluation, [4] * 200), with_ranks(evaluation, [1] * 200)
    result = compare(worse, better, resamples=999)
    assert result["mrr"].difference == 0.75
    assert (result["mrr"].low, result["mrr"].high) == (0.75, 0.75)
    assert result["hits@1"].p == 1 / 1000
    assert compare(better, worse, resamples=999)["mrr"].difference == -0.75


def clusters(asked, values):
    asked = np.asarray(asked)
    return Clusters.of(Queries(asked, np.zeros_like(asked)), np.asarray(values, np.float64)[:, None])


def test_the_p_value_of_three_queries_can_be_counted_on_paper():
    """All signs of (1, 1, 1): only +++ and --- are as extreme, 2 of 8."""
    flipped = np.abs(sign_flip_means(clusters([0, 1, 2], [1, 1, 1]), resamples=20_000, seed=0))
    assert (flipped >= 1).mean() == pytest.approx(0.25, abs=0.01)


def test_facts_of_one_query_keep_or_change_their_sign_together():
    """Signs of (1 + 3, 1) over three facts: 5/3 and 3/3, never 1/3."""
    flipped = np.abs(sign_flip_means(clusters([7, 4, 7], [1, 1, 3]), resamples=50, seed=0))
    assert set(flipped.ravel()) == {5 / 3, 3 / 3}


def test_queries_without_a_difference_stay_in_the_mean():
    assert set(np.abs(sign_flip_means(clusters(range(4), [1, 0, 0, 0]), resamples=50, seed=0)).ravel()) == {0.25}


def test_noise_is_not_significant_too_often(evaluation):
    rng = np.random.default_rng(5)
    found = 0
    for seed in range(100):
        first, second = (with_ranks(evaluation, rng.integers(1, 10, 200)) for _ in range(2))
        found += compare(first, second, resamples=300, seed=seed)["mrr"].p < 0.05
    assert found <= 12


def test_facts_that_share_a_query_are_one_piece_of_evidence(kb_of, scorer_for):
    """Five queries, better on all their four facts: p is 2 / 2^5, not 2 / 2^20."""
    subjects = np.repeat(np.arange(10), 4)
    kb = kb_of({"test": np.stack([subjects, 0 * subjects, 10 + np.arange(40)], 1)}, n_entities=50, n_relations=1)
    evaluation = evaluate(scorer_for(kb), kb, "test")
    ranks = np.full(80, 5)
    better = np.where(np.arange(80) < 20, 1, ranks)
    result = compare(with_ranks(evaluation, ranks), with_ranks(evaluation, better), resamples=20_000)["mrr"]
    assert result.p == pytest.approx(2 / 2**5, abs=0.01)
    assert result.difference == pytest.approx(0.8 * 20 / 80)


def test_some_of_the_queries_can_be_compared_alone(evaluation):
    ranks = np.where(evaluation.asks_head, 1, 2)
    worse, better = with_ranks(evaluation, np.full(200, 2)), with_ranks(evaluation, ranks)
    head, tail = (compare(worse, better, which=side)["mrr"] for side in (evaluation.asks_head, ~evaluation.asks_head))
    assert (head.first, head.second, tail.second, tail.p) == (0.5, 1.0, 0.5, 1.0)
    assert compare(worse, better)["mrr"].difference == 0.25


def test_other_queries_are_refused(evaluation, random_kb, scorer_for):
    kb = random_kb(seed=1, n_facts=800)
    with pytest.raises(MismatchError, match="different queries"):
        compare(evaluation, evaluate(scorer_for(kb), kb, "test"))


def test_other_data_is_refused_even_if_its_numbers_are_the_same(evaluation):
    with pytest.raises(MismatchError, match=r"'toy' test .* and 'other' test"):
        compare(evaluation, replace(evaluation, data="other"))


def test_other_tie_rules_are_refused(evaluation):
    with pytest.raises(MismatchError, match="different tie rules, 'expected' and 'optimistic'"):
        compare(evaluation, replace(evaluation, ties="optimistic"))
