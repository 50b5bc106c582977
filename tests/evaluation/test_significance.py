"""The paired test of two systems."""

from dataclasses import replace

import numpy as np
import pytest

from cear.core.errors import MismatchError
from cear.core.types import Ranks
from cear.evaluation import compare, evaluate
from cear.evaluation.resampling import sign_flip_means


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


def test_the_p_value_of_three_facts_can_be_counted_on_paper():
    """All signs of (1, 1, 1): only +++ and --- are as extreme, 2 of 8."""
    flipped = np.abs(sign_flip_means(np.ones((3, 1)), resamples=20_000, seed=0))
    assert (flipped >= 1).mean() == pytest.approx(0.25, abs=0.01)


def test_facts_without_a_difference_stay_in_the_mean():
    values = np.array([[1.0], [0.0], [0.0], [0.0]])
    assert set(np.abs(sign_flip_means(values, resamples=50, seed=0)).ravel()) == {0.25}


def test_noise_is_not_significant_too_often(evaluation):
    rng = np.random.default_rng(5)
    found = 0
    for seed in range(100):
        first, second = (with_ranks(evaluation, rng.integers(1, 10, 200)) for _ in range(2))
        found += compare(first, second, resamples=300, seed=seed)["mrr"].p < 0.05
    assert found <= 12


def test_two_queries_of_a_fact_are_one_piece_of_evidence(evaluation):
    """Five facts better on both sides: p is 2 / 2^5, not 2 / 2^10."""
    ranks = np.full(200, 5)
    better = ranks.copy()
    better[[0, 1, 2, 3, 4, 100, 101, 102, 103, 104]] = 1
    p = compare(with_ranks(evaluation, ranks), with_ranks(evaluation, better), resamples=20_000)["mrr"].p
    assert p == pytest.approx(2 / 2**5, abs=0.01)


def test_other_queries_are_refused(evaluation, random_kb, scorer_for):
    kb = random_kb(seed=1, n_facts=800)
    with pytest.raises(MismatchError, match="different queries"):
        compare(evaluation, evaluate(scorer_for(kb), kb, "test"))


def test_other_tie_rules_are_refused(evaluation):
    with pytest.raises(MismatchError, match="different tie rules, 'expected' and 'optimistic'"):
        compare(evaluation, replace(evaluation, ties="optimistic"))
