"""Facts that people judged true or false."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from cear.core.errors import DataError, MismatchError, ScoreError
from cear.evaluation import Judgement, average_precision, best_threshold, roc_auc

MIXED = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=30).filter(
    lambda rows: len({true for _, true in rows}) == 2
)


def arrays(scores, truth, dtype=np.float64):
    return np.array(scores, dtype), np.array(truth, bool)


class TestByHand:
    scores, truth = arrays([4, 3, 2, 2, 1], [1, 0, 1, 0, 0])

    def test_pairs_in_the_right_order(self):
        """The true 4 beats three; the true 2 loses to 3, ties with 2, beats 1: 4.5 of 6 pairs."""
        assert roc_auc(self.scores, self.truth) == 4.5 / 6

    def test_average_precision_takes_equal_scores_together(self):
        """1 of 1 at 4; 2 of 4 from 2 on."""
        assert average_precision(self.scores, self.truth) == (1 + 2 / 4) / 2

    def test_figures_of_a_threshold(self):
        """From 2 on four are called true, two of them rightly; the 1 is called false, rightly."""
        found = Judgement.of(self.scores, self.truth, 2)
        assert (found.facts, found.true, found.threshold) == (5, 2, 2)
        assert (found.accuracy, found.precision, found.recall) == (3 / 5, 2 / 4, 2 / 2)
        assert found.f1 == pytest.approx(2 / 3)
        assert (found.auc, found.average_precision) == (0.75, 0.75)

    def test_nothing_is_called_true(self):
        found = Judgement.of(self.scores, self.truth, 5)
        assert (found.accuracy, found.precision, found.recall, found.f1) == (3 / 5, 0, 0, 0)


class TestBestThreshold:
    def test_it_lies_half_way(self):
        assert best_threshold(*arrays([5, 3, 2, 0], [1, 1, 0, 0])) == 2.5

    def test_of_two_it_is_the_higher(self):
        """Above the 2 and above the 0 three are right."""
        assert best_threshold(*arrays([3, 2, 1, 0], [1, 0, 1, 0])) == 2.5

    def test_equal_scores_fall_on_one_side(self):
        assert best_threshold(*arrays([2, 2, 2, 0], [1, 1, 0, 0])) == 1

    def test_it_may_call_nothing_true_or_everything(self):
        assert 2 < best_threshold(*arrays([2, 1, 0], [0, 0, 1])) < 2.1
        assert best_threshold(*arrays([2, 1, 0], [0, 1, 1])) == 0

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize(("truth", "right"), [([1, 0, 0], 3), ([1, 1, 0], 3), ([0, 0, 1], 2)])
    def test_neighbouring_numbers_are_told_apart(self, dtype, truth, right):
        second = np.nextafter(dtype(1), dtype(2))
        scores, truth = arrays([np.nextafter(second, dtype(2)), second, 1], truth, dtype)
        assert ((scores >= best_threshold(scores, truth)) == truth).sum() == right

    @given(MIXED)
    def test_no_other_threshold_is_right_more_often(self, rows):
        scores, truth = arrays(*zip(*rows, strict=True))
        others = [((scores >= t) == truth).mean() for t in np.arange(-4, 5) - 0.5]
        assert Judgement.of(scores, truth, best_threshold(scores, truth)).accuracy == max(others)


@given(MIXED, st.randoms())
def test_the_order_of_rows_never_matters(rows, random):
    scores, truth = arrays(*zip(*rows, strict=True))
    first = Judgement.of(scores, truth, best_threshold(scores, truth))
    random.shuffle(rows)
    scores, truth = arrays(*zip(*rows, strict=True))
    assert Judgement.of(scores, truth, best_threshold(scores, truth)) == first


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_figures_are_those_of_sklearn(seed, ties):
    rng = np.random.default_rng(seed)
    truth = rng.random(300) < 0.3
    scores = rng.normal(size=300) + truth
    scores = scores.round() if ties else scores
    found, called = Judgement.of(scores, truth, 0.5), scores >= 0.5
    assert found.auc == pytest.approx(metrics.roc_auc_score(truth, scores))
    assert found.average_precision == pytest.approx(metrics.average_precision_score(truth, scores))
    assert found.accuracy == pytest.approx(metrics.accuracy_score(truth, called))
    assert found.f1 == pytest.approx(metrics.f1_score(truth, called))
    assert found.precision == pytest.approx(metrics.precision_score(truth, called))
    assert found.recall == pytest.approx(metrics.recall_score(truth, called))


def test_it_is_json():
    found = Judgement.of(*arrays([2, 1], [1, 0]), 1.5).as_json()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["accuracy"] == 1


class TestRefused:
    @pytest.mark.parametrize(("truth", "count"), [([1, 1], 2), ([0, 0], 0)])
    def test_judgements_of_one_kind(self, truth, count):
        with pytest.raises(DataError, match=f"Of 2 judged facts {count} are true"):
            best_threshold(*arrays([1, 2], truth))

    def test_scores_that_are_no_numbers(self):
        with pytest.raises(ScoreError, match="judged fact 1 is nan"):
            roc_auc(*arrays([1, np.nan], [1, 0]))

    def test_other_lengths(self):
        with pytest.raises(MismatchError, match=r"\(3,\) .* \(2,\)"):
            average_precision(*arrays([1, 2, 3], [1, 0]))
