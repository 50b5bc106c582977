"""Whether probabilities mean what they say."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import brier_score_loss, log_loss

from cear.core.errors import ConfigError, MismatchError, ScoreError
from cear.evaluation import Calibration, calibration_by_relation, wilson_interval


def calibration(probabilities, right, **settings):
    return Calibration.of(np.array(probabilities, np.float64), np.array(right, bool), **settings)


class TestByHand:
    def test_four_proposals(self):
        found = calibration([0.8, 0.6, 0.4, 0.2], [1, 0, 1, 0], bins=2)
        assert (found.count, found.right, found.expected) == (4, 2, pytest.approx(2.0))
        assert found.brier == pytest.approx((0.04 + 0.36 + 0.36 + 0.04) / 4)
        assert found.log_loss == pytest.approx(-np.log([0.8, 0.4, 0.4, 0.8]).mean())
        assert [(each.count, each.mean, each.share) for each in found.bins] == [
            (2, pytest.approx(0.3), 0.5),
            (2, pytest.approx(0.7), 0.5),
        ]
        assert found.ece == pytest.approx(0.2)

    def test_bins_weigh_by_their_counts(self):
        """Three at .5, all wrong, and one at 1, right: 3/4 * .5."""
        found = calibration([0.5, 0.5, 0.5, 1.0], [0, 0, 0, 1], bins=4)
        assert [each.count for each in found.bins] == [3, 1]
        assert found.ece == 3 / 4 * 0.5

    def test_one_that_means_what_it_says(self):
        found = calibration([0.25] * 4 + [0.75] * 4, [0, 0, 0, 1, 1, 1, 1, 0])
        assert (found.ece, found.expected, found.right) == (0, 4, 4)


class TestBins:
    def test_without_ties_they_are_of_equal_size(self):
        found = calibration(np.linspace(0.1, 0.9, 30), [1] * 30, bins=15)
        assert [each.count for each in found.bins] == [2] * 15

    def test_ties_are_never_split(self):
        """Six values in three bins: the four equal ones, places 1 to 4, go where place 2.5 belongs."""
        found = calibration([0.1, 0.5, 0.5, 0.5, 0.5, 0.9], [0] * 6, bins=3)
        assert [(each.count, each.mean) for each in found.bins] == [(1, 0.1), (4, 0.5), (1, 0.9)]

    def test_a_single_value_is_a_single_bin(self):
        assert [each.count for each in calibration([0.3] * 100, [1] * 100).bins] == [100]

    @given(st.lists(st.integers(1, 12), min_size=1, max_size=60), st.integers(1, 6))
    def test_a_value_is_in_one_bin_and_each_row_too(self, twelfths, bins):
        found = calibration(np.array(twelfths) / 12, np.ones(len(twelfths)), bins=bins, floor=0)
        assert len(found.bins) <= bins
        assert sum(each.count for each in found.bins) == len(twelfths)
        ends = np.cumsum([each.count for each in found.bins])[:-1]
        ascending = sorted(twelfths)
        assert all(ascending[end - 1] < ascending[end] for end in ends)


class TestFloor:
    def test_what_is_below_is_only_counted(self):
        found = calibration([0.5, 0.05, 0.04, 0.0], [1, 0, 1, 0])
        assert (found.floor, found.count, found.right, found.expected) == (0.05, 2, 1, 0.55)
        assert (found.below, found.right_below) == (2, 1)
        assert found.brier == calibration([0.5, 0.05], [1, 0]).brier

    def test_nothing_reaches_it(self):
        found = calibration([0.01, 0.02], [0, 1])
        assert (found.count, found.bins, found.below, found.right_below) == (0, (), 2, 1)
        assert (found.log_loss, found.brier, found.ece) == (0, 0, 0)


class TestWilson:
    def test_five_of_ten_by_hand(self):
        """z² = 3.8415: (.5 + .19207) / 1.38415 = .5, and 1.96 / 1.38415 * √(.025 + .0096036) = .26341."""
        assert wilson_interval(5, 10) == pytest.approx((0.5 - 0.26341, 0.5 + 0.26341), abs=1e-5)

    @pytest.mark.parametrize(("right", "count"), [(0, 7), (7, 7), (1, 1), (3, 1000), (420, 1000)])
    def test_it_is_that_of_scipy(self, right, count):
        oracle = binomtest(right, count).proportion_ci(method="wilson")
        assert wilson_interval(right, count) == pytest.approx((oracle.low, oracle.high), abs=1e-12)

    def test_nothing_seen_is_nothing_known(self):
        assert wilson_interval(0, 0) == (0, 1)

    def test_bins_have_it(self):
        (only,) = calibration([0.5] * 10, [1] * 5 + [0] * 5).bins
        assert (only.low, only.high) == wilson_interval(5, 10)


def test_log_loss_and_brier_are_those_of_sklearn():
    rng = np.random.default_rng(0)
    p, right = rng.random(500), rng.random(500) < 0.4
    p[:2], right[:2] = (1.0, 0.0), (False, True)  # certain and wrong: finite all the same
    found = Calibration.of(p, right, floor=0)
    assert found.log_loss == pytest.approx(log_loss(right, p))
    assert found.brier == pytest.approx(brier_score_loss(right, p))


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=40), st.randoms())
def test_the_order_of_rows_never_matters(rows, random):
    first = calibration([p for p, _ in rows], [right for _, right in rows], bins=4)
    random.shuffle(rows)
    assert calibration([p for p, _ in rows], [right for _, right in rows], bins=4) == first


def test_each_relation_is_measured_alone():
    relations, p = np.array([3, 0, 3, 0, 3]), np.array([0.5, 0.9, 0.7, 0.8, 0.2])
    right = np.array([True, True, False, True, False])
    found = calibration_by_relation(relations, p, right, bins=2)
    assert {r: (each.count, each.right) for r, each in found.items()} == {0: (2, 2), 3: (3, 1)}
    assert found[3] == calibration([0.5, 0.7, 0.2], [1, 0, 0], bins=2)
    assert sum(each.expected for each in found.values()) == pytest.approx(p.sum())


def test_it_is_json():
    found = calibration([0.9, 0.4], [1, 0])
    assert json.loads(json.dumps(found.as_json(), allow_nan=False)) == found.as_json()
    assert found.as_json()["bins"][0]["mean"] == 0.4


class TestRefused:
    @pytest.mark.parametrize("value", [-0.01, 1.01, np.nan, np.inf])
    def test_what_is_no_probability(self, value):
        with pytest.raises(ScoreError, match=f"Probability {value} of proposal 1 is not between 0 and 1; 1 of 2"):
            calibration([0.5, value], [1, 0])

    def test_judgements_of_other_proposals(self):
        with pytest.raises(MismatchError, match=r"\(2,\) .* \(1,\)"):
            calibration([0.5, 0.5], [1])
        with pytest.raises(MismatchError, match="3 relations are given for 2 probabilities"):
            calibration_by_relation(np.zeros(3, np.int64), np.array([0.5, 0.5]), np.array([True, False]))

    def test_no_bins(self):
        with pytest.raises(ConfigError, match="0 bins"):
            calibration([0.5], [1], bins=0)
