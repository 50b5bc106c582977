"""What Stage 1 says about a candidate, as numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cear.core.types import NO_ENTITY, Candidates
from cear.reranking.features import log_probabilities, stage1_features

INF = math.inf


def candidates(entities: list[list[int]], scores: list[list[float]]) -> Candidates:
    return Candidates(np.array(entities), np.array(scores, np.float32))


def test_log_probabilities_on_paper() -> None:
    found = candidates([[4, 2, 9], [7, NO_ENTITY, NO_ENTITY]], [[math.log(6), math.log(3), 0], [5, -INF, -INF]])
    expected = [[math.log(0.6), math.log(0.3), math.log(0.1)], [0, -INF, -INF]]
    np.testing.assert_allclose(log_probabilities(found), expected, atol=1e-6)


def test_an_empty_list_has_no_probabilities() -> None:
    empty = candidates([[NO_ENTITY] * 2], [[-INF] * 2])
    assert log_probabilities(empty).tolist() == [[-INF, -INF]]
    assert stage1_features(empty).tolist() == [[[0.0] * 3] * 2]


def test_features_on_paper() -> None:
    found = candidates([[4, 2, NO_ENTITY]], [[math.log(3), 0, -INF]])
    expected = [[[math.log(0.75), 0.75, 0.0], [math.log(0.25), 0.25, math.log(2)], [0.0, 0.0, 0.0]]]
    np.testing.assert_allclose(stage1_features(found), expected, atol=1e-6)


def test_a_shift_of_all_scores_says_nothing() -> None:
    rows = np.array([[3.0, 1.0, -2.0]])
    one, other = (stage1_features(Candidates(np.array([[1, 2, 3]]), rows + shift)) for shift in (0, 100))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_what_is_far_below_stays_small_and_keeps_its_order() -> None:
    far = stage1_features(candidates([[1, 2, 3, 4]], [[0, -19, -1000, -1001]]))[0, :, 0]
    assert far[1] == pytest.approx(-19, abs=1e-5)
    assert (np.diff(far) < 0).all()
    assert far.min() > -30


@given(st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=8))
def test_better_scores_have_better_log_probabilities(values: list[float]) -> None:
    scores = np.sort(np.array(values, np.float32))[::-1]
    log_p = log_probabilities(Candidates(np.arange(len(values))[None], scores[None]))[0]
    assert np.exp(log_p).sum() == pytest.approx(1)
    steps = np.diff(scores.astype(np.float64))
    assert (np.diff(log_p) <= 0).all()
    assert (np.diff(log_p)[steps < -1e-10] < 0).all()
