"""Trees: right derivatives, and no row is judged by who has learned from its group."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from cear.completion import Fitted
from cear.completion.boosting import Boosted, Counted, HiddenTruth, Likelihood, Reals, sample_groups, sigmoid
from cear.core.errors import DataError
from cear.core.reading import reading
from cear.core.types import Floats, Ints

SEEN = np.array([1.0, 0, 1, 0, 0])
LIKELIHOODS = {
    "hidden truth": HiddenTruth(SEEN, np.linspace(0.2, 1, 5), np.array([0, 0.7, 0.7, 0, 1]), np.linspace(1, 3, 5)),
    "counted": Counted(np.array([0.0, 1, 4, 2, 0]), np.linspace(1, 3, 5)),
}


@pytest.fixture
def draw() -> Generator:
    return np.random.default_rng(0)


def truth_of(seen: Floats) -> HiddenTruth:
    """Everything that is true is seen."""
    return HiddenTruth(seen.astype(float), np.ones(len(seen)), np.zeros(len(seen)), np.ones(len(seen)))


def auc(said: Reals, right: Floats) -> float:
    """How often one that is right stands before one that is not."""
    yes, no = said[right > 0][:, None], said[right == 0]
    return float(((yes > no) + (yes == no) / 2).mean())


@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
class TestLikelihood:
    def test_the_slope_is_that_of_the_loss(self, likelihood: Likelihood) -> None:
        f, step = np.array([-3.0, -1, 0.2, 1, 2.5]), 1e-5
        numeric = (likelihood.loss(f + step) - likelihood.loss(f - step)) / (2 * step)
        assert likelihood.slope(f)[0] == pytest.approx(numeric, rel=1e-5)

    def test_the_second_one_is_positive(self, likelihood: Likelihood) -> None:
        assert all((likelihood.slope(np.full(5, f))[1] > 0).all() for f in (-60.0, 0.0, 60.0))

    def test_some_rows_have_the_losses_that_they_had(self, likelihood: Likelihood) -> None:
        few, f = np.array([True, False, True, True, False]), np.linspace(-1, 1, 5)
        assert likelihood[few].loss(f[few]).tolist() == likelihood.loss(f)[few].tolist()


class TestStart:
    def test_counts_start_at_their_mean(self) -> None:
        counted = Counted(np.array([0.0, 3]), np.array([1.0, 3]))
        assert counted.start() == pytest.approx(np.log(9 / 4))
        assert counted.slope(np.full(2, counted.start()))[0].sum() == pytest.approx(0, abs=1e-9), "the best constant"

    def test_what_is_seen_is_a_share_of_what_is_true(self) -> None:
        truth = HiddenTruth(np.repeat([1.0, 0], [10, 90]), np.full(100, 0.5), np.zeros(100), np.ones(100))
        assert sigmoid(np.array(truth.start())) == pytest.approx(0.2)
        assert truth.slope(np.full(100, truth.start()))[0].sum() == pytest.approx(0, abs=1e-9)


class TestFit:
    def test_it_learns_what_can_be_learned(self, draw: Generator) -> None:
        x = draw.normal(size=(1000, 2))
        seen = draw.random(1000) < sigmoid(2 * x[:, 0])
        said = Boosted().fit(x, truth_of(seen), np.arange(1000), seed=0).raw(x, np.arange(1000))
        assert auc(said, seen.astype(float)) > 0.8

    @pytest.mark.parametrize("together", [True, False])
    def test_a_row_is_judged_by_who_never_saw_its_group(self, draw: Generator, together: bool) -> None:
        group = np.repeat(np.arange(100), 5)
        seen = (draw.random(100) < 0.5)[group].astype(float)
        name = group[:, None].astype(float)  # tells the group, and so the truth, to who has seen a row of it
        groups = group if together else np.arange(500)
        grown = Boosted(leaves=31, least_in_leaf=2).fit(name, truth_of(seen), groups, seed=0)
        remembered = auc(grown.raw(name, groups), seen)
        assert remembered == pytest.approx(0.5, abs=0.15) if together else remembered > 0.9

    def test_the_order_of_rows_does_not_matter(self, draw: Generator) -> None:
        x, groups = draw.normal(size=(600, 3)), draw.integers(150, size=600)
        truth = truth_of(draw.random(600) < sigmoid(x[:, 0] + x[:, 1]))
        order = draw.permutation(600)
        turned = HiddenTruth(truth.seen[order], truth.share, truth.offset, truth.weight)
        one, other = Boosted().fit(x, truth, groups, seed=3), Boosted().fit(x[order], turned, groups[order], seed=3)
        assert other.raw(x[order], groups[order]) == pytest.approx(one.raw(x, groups)[order], abs=1e-6)
        assert np.ptp(one.raw(x, groups)) > 1, "and trees were grown"

    def test_a_monotone_feature_never_counts_against_a_row(self, draw: Generator) -> None:
        x = draw.uniform(-1, 1, size=(800, 2))
        seen = draw.random(800) < sigmoid(2 * np.sin(5 * x[:, 0]) + 3 * x[:, 1])
        grid = np.column_stack([np.linspace(-1, 1, 50), np.zeros(50)])

        def steps(**settings: Any) -> Reals:
            grown = Boosted(**settings).fit(x, truth_of(seen), np.arange(800), seed=0)
            return np.diff(grown.raw(grid, np.zeros(50, np.int64)))

        assert steps().min() < 0, "left alone it falls where the truth falls"
        assert steps(monotone=(1, 0)).min() >= 0
        assert steps(monotone=(-1, 0)).max() <= 0

    def test_json_gives_the_same_trees_back(self, draw: Generator) -> None:
        x, groups = draw.normal(size=(300, 2)), np.arange(300)
        grown = Boosted(dealings=2).fit(x, truth_of(draw.random(300) < sigmoid(x[:, 0])), groups, seed=0)
        again = Fitted.from_json(json.loads(json.dumps(grown.as_json(), allow_nan=False)))
        assert np.array_equal(again.raw(x, groups), grown.raw(x, groups))
        assert again.as_json() == grown.as_json()

    @pytest.mark.parametrize("values", [{}, {"models": [["x"]], "start": 0.0}, {"models": 3, "start": 0, "seed": 0}])
    def test_a_damaged_file_is_told(self, values: dict[str, Any]) -> None:
        with pytest.raises(DataError, match=r"x\.json cannot be read"), reading("x.json"):
            Fitted.from_json(values)

    def test_of_a_single_group_nobody_may_say_more_than_the_mean(self) -> None:
        x, groups = np.arange(3.0)[:, None], np.zeros(3, np.int64)
        grown = Boosted().fit(x, Counted(np.array([1.0, 2, 3]), np.ones(3)), groups, seed=0)
        assert np.exp(grown.raw(x, groups)) == pytest.approx([2, 2, 2])
        assert np.isfinite(Fitted.from_json(grown.as_json()).raw(x, np.arange(3))).all(), "those of other groups"


class TestSampleGroups:
    @pytest.fixture
    def groups(self) -> Ints:
        return np.repeat(np.arange(20_000), 3)

    def test_the_rows_that_are_left_stand_for_all(self, groups: Ints) -> None:
        kept = groups < 500
        drawn, weight = sample_groups(groups, 12_000, kept, seed=0)
        assert drawn.sum() == pytest.approx(12_000, rel=0.05)
        assert weight[drawn].sum() == pytest.approx(60_000, rel=0.05)
        assert drawn[kept].all()
        assert set(weight[kept]) == {1.0}

    def test_a_group_stays_whole(self, groups: Ints) -> None:
        drawn, _ = sample_groups(groups, 12_000, np.arange(len(groups)) == 7, seed=0)
        assert set(drawn.reshape(-1, 3).sum(axis=1)) == {0, 3}
        assert drawn[6:9].all(), "with its other rows"

    def test_few_rows_are_all_taken(self, groups: Ints) -> None:
        drawn, weight = sample_groups(groups, 100_000, groups < 10, seed=0)
        assert drawn.all()
        assert set(weight) == {1.0}

    def test_many_that_are_kept_leave_room_for_others(self, groups: Ints) -> None:
        kept = groups < 5000
        drawn, weight = sample_groups(groups, 12_000, kept, seed=0)
        assert drawn[~kept].sum() == pytest.approx(3000, rel=0.1), "a quarter of what was wanted, at the least"
        assert weight[drawn].sum() == pytest.approx(60_000, rel=0.05)
