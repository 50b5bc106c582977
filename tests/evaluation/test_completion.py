"""The measures of a completion: precision, recall, what can be had at a precision, and how sure they are."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cear.core.errors import ConfigError, MismatchError, ScoreError
from cear.evaluation import Proposed
from cear.evaluation.resampling import bootstrap_tops


def proposed(facts, scores, right, inverse=None, hidden=None, hidden_easy=0):
    right = np.array(right, bool)
    return Proposed(
        facts=np.array(facts, np.int64).reshape(-1, 3),
        scores=np.array(scores, np.float64),
        right=right,
        inverse=np.array(inverse if inverse is not None else [False] * len(right), bool),
        hidden=int(right.sum()) if hidden is None else hidden,
        hidden_easy=hidden_easy,
    )


def permuted(given, order):
    parts = (given.facts[order], given.scores[order], given.right[order], given.inverse[order])
    return Proposed(*parts, given.hidden, given.hidden_easy)


@pytest.fixture
def five():
    """Right, wrong, right, right, wrong from the best to the worst; rows in another order; 6 facts hidden."""
    facts = [[3, 1, 0], [0, 0, 1], [2, 1, 0], [0, 0, 2], [0, 0, 3]]
    return proposed(facts, [0.3, 0.9, 0.4, 0.8, 0.7], [0, 1, 1, 0, 1], [0, 1, 0, 1, 0], hidden=6, hidden_easy=2)


class TestMeasures:
    def test_what_is_right_among_the_first(self, five):
        assert [five.right_at(n) for n in (1, 2, 3, 4, 5, 9)] == [1, 1, 2, 3, 3, 3]

    def test_precision_is_over_places_and_an_empty_place_is_wrong(self, five):
        assert [five.precision_at(n) for n in (1, 2, 3, 4, 5, 10)] == [1, 1 / 2, 2 / 3, 3 / 4, 3 / 5, 3 / 10]

    def test_recall_is_over_all_that_was_hidden(self, five):
        assert [five.recall_at(n) for n in (1, 4, 10)] == [1 / 6, 3 / 6, 3 / 6]

    def test_average_precision_counts_hidden_facts_that_nobody_proposed(self, five):
        assert five.average_precision == pytest.approx((1 / 1 + 2 / 3 + 3 / 4) / 6)

    def test_how_many_facts_a_precision_gives(self, five):
        """3 of 4 is .75 although 2 of 3 before it is less; 3 of 5 is .6."""
        assert [five.facts_at_precision(p) for p in (1.0, 0.75, 0.7, 0.6, 0.1)] == [1, 4, 4, 5, 5]

    def test_nine_of_ten_are_nine_tenths(self):
        ten = proposed([[i, 0, 0] for i in range(10)], range(10, 0, -1), [1] * 9 + [0])
        assert ten.facts_at_precision(0.9) == 10

    def test_no_fact_at_a_precision_that_is_never_reached(self):
        wrong_first = proposed([[0, 0, 0], [1, 0, 0]], [2, 1], [0, 1])
        assert [wrong_first.facts_at_precision(p) for p in (0.9, 0.5)] == [0, 2]

    def test_equal_scores_go_by_subject_relation_object(self):
        facts = [[1, 0, 0], [0, 1, 0], [0, 0, 2], [0, 0, 1]]
        assert proposed(facts, [1, 1, 1, 1], [0, 0, 0, 1]).right_at(1) == 1
        assert proposed(facts, [1, 1, 1, 1], [1, 1, 0, 0]).right_at(2) == 0
        assert proposed(facts, [1, 1, 1, 1], [0, 1, 0, 0]).right_at(3) == 1

    def test_nothing_proposed_is_nothing_found(self):
        nothing = proposed([], [], [], hidden=3)
        assert (nothing.precision_at(10), nothing.recall_at(10), nothing.average_precision) == (0, 0, 0)
        assert nothing.facts_at_precision(0.5) == 0
        assert nothing.precision_intervals((10,)) == {10: (0.0, 0.0)}

    def test_nothing_hidden_is_a_recall_of_zero(self):
        assert proposed([[0, 0, 0]], [1], [0], hidden=0).recall_at(1) == 0


class TestParts:
    def test_without_easy_ones(self, five):
        """⟨0, 0, 1⟩, right, and ⟨0, 0, 2⟩, wrong, are said the other way round: right, right, wrong are left."""
        hard = five.without_easy()
        assert (len(hard), hard.hidden, hard.hidden_easy) == (3, 4, 0)
        assert [hard.right_at(n) for n in (1, 2, 3)] == [1, 2, 2]
        assert hard.recall_at(3) == 2 / 4

    def test_by_relation(self, five):
        """Relation 2 has a hidden fact and no proposal; relation 3 has neither."""
        parts = five.by_relation(np.array([3, 2, 1, 0]), np.array([2, 0, 0, 0]))
        assert {r: (len(part), part.hidden, part.hidden_easy) for r, part in parts.items()} == {
            0: (3, 3, 2),
            1: (2, 2, 0),
            2: (0, 1, 0),
        }
        assert parts[0].facts_at_precision(0.6) == 3
        assert parts[1].recall_at(5) == 1 / 2

    @pytest.mark.parametrize(("hidden", "easy"), [([3, 2, 2], [2, 0, 0]), ([3, 3], [1, 0]), ([6], [2])])
    def test_counts_of_other_facts_are_refused(self, five, hidden, easy):
        with pytest.raises(MismatchError, match="6 hidden facts, 2 of them easy, and relations up to number 1"):
            five.by_relation(np.array(hidden), np.array(easy))


class TestRefused:
    def test_scores_that_cannot_be_sorted(self):
        with pytest.raises(ScoreError, match="⟨4, 0, 5⟩ is nan; 1 of 2"):
            proposed([[1, 0, 2], [4, 0, 5]], [0.5, np.nan], [0, 0])

    def test_a_fact_that_is_proposed_twice(self):
        with pytest.raises(ScoreError, match="⟨1, 0, 2⟩ is proposed twice"):
            proposed([[1, 0, 2], [0, 0, 2], [1, 0, 2]], [0.9, 0.5, 0.1], [0, 0, 0])

    def test_more_right_ones_than_were_hidden(self):
        with pytest.raises(MismatchError, match="2 proposals are right, 0 of them easy, but only 1 facts were hidden"):
            proposed([[0, 0, 0], [1, 0, 0]], [1, 2], [1, 1], hidden=1)

    def test_easy_right_ones_that_were_not_counted_as_hidden(self):
        with pytest.raises(MismatchError, match="1 of them easy, but only 5 facts were hidden, 0 of them easy"):
            proposed([[0, 0, 0]], [1], [1], [1], hidden=5)

    def test_parts_of_other_lengths(self, five):
        with pytest.raises(MismatchError, match=r"\(4,\)"):
            replace(five, scores=five.scores[:4])

    def test_a_place_that_is_none(self, five):
        with pytest.raises(ConfigError, match="The first 0 proposals"):
            five.precision_at(0)
        with pytest.raises(ConfigError, match="The first -5 proposals"):
            five.precision_intervals((10, -5))


class TestIntervals:
    def test_two_groups_can_be_drawn_in_four_ways(self):
        """Twice the right one: 1; twice the wrong one: 0; each once: the right one first, so 1 of 2."""
        tops = bootstrap_tops(np.array([0, 1]), np.array([True, False]), (1, 2), resamples=4000, seed=0)
        shares = {tuple(each): (tops == each).all(1).mean() for each in ([1, 2], [1, 1], [0, 0])}
        assert shares == pytest.approx({(1, 2): 0.25, (1, 1): 0.5, (0, 0): 0.25}, abs=0.03)

    def test_a_place_may_be_amid_the_copies_of_a_fact(self):
        """One group of a wrong and a right fact is drawn once, always; of two such groups each 0 to 2 times."""
        one = bootstrap_tops(np.array([0, 0]), np.array([False, True]), (1, 2, 3), resamples=5, seed=0)
        assert one.tolist() == [[0, 1, 1]] * 5
        two = bootstrap_tops(np.array([0, 1, 0, 1]), np.array([0, 1, 1, 0], bool), (1, 3, 4), resamples=200, seed=0)
        # Drawn twice, the first group has wrong, wrong, right, right; the second right, right, wrong, wrong.
        assert {tuple(each) for each in two.tolist()} == {(0, 1, 2), (0, 2, 2), (1, 2, 2)}

    def test_places_are_filled_from_far_down_when_the_best_are_not_drawn(self):
        """One time in four only the second group is drawn, whose fact is right and stands fifth."""
        tops = bootstrap_tops(np.array([0, 0, 0, 0, 1]), np.arange(5) == 4, (1,), resamples=2000, seed=0)
        assert tops.mean() == pytest.approx(0.25, abs=0.03)

    def test_facts_of_one_subject_and_relation_count_as_one_draw(self):
        """Half of 40 groups right, five facts each: as wide as 40 facts, not as 200."""
        rng = np.random.default_rng(0)
        facts = np.stack([np.repeat(np.arange(40), 5), np.zeros(200, int), np.tile(np.arange(5), 40)], 1)
        grouped = proposed(facts, rng.random(200), np.repeat(np.arange(40) % 2, 5))
        apart = proposed([[i, 0, 0] for i in range(200)], grouped.scores, grouped.right)
        (low, high), (a, b) = (each.precision_intervals((100,))[100] for each in (grouped, apart))
        assert low < grouped.precision_at(100) < high
        assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 40), rel=0.25)
        assert b - a < 0.7 * (high - low)

    @pytest.mark.parametrize("tops", [(1,), (7,), (1, 30), (100,)])
    def test_it_is_what_sorting_every_resample_gives(self, tops):
        rng = np.random.default_rng(3)
        group, right = rng.integers(0, 6, 60), rng.random(60) < 0.4
        fast = bootstrap_tops(group, right, tops, resamples=50, seed=9)
        for draws, found in zip(np.random.default_rng(9).integers(0, 6, (50, 6)), fast, strict=True):
            rows = sorted(row for drawn in draws for row in np.flatnonzero(group == drawn))
            assert found.tolist() == [right[rows[:n]].sum() for n in tops]

    def test_all_right_is_sure(self):
        assert proposed([[i, 0, 0] for i in range(9)], range(9), [1] * 9).precision_intervals((4,)) == {4: (1.0, 1.0)}


PROPOSALS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3), st.integers(0, 2), st.booleans(), st.booleans()),
    unique_by=lambda row: row[:3],
    min_size=1,
    max_size=20,
)


@given(rows=PROPOSALS, random=st.randoms())
def test_the_order_of_rows_never_matters(rows, random):
    s, r, o, scores, right, inverse = np.array(rows).T
    easy = int((right & inverse).sum())
    first = proposed(np.stack([s, r, o], 1), scores, right, inverse, hidden=int(right.sum()) + 2, hidden_easy=easy)
    second = permuted(first, np.array(random.sample(range(len(rows)), len(rows))))
    for one, other in ((first, second), (first.without_easy(), second.without_easy())):
        assert one.summary((1, 3, 8), resamples=20) == other.summary((1, 3, 8), resamples=20)


@given(rows=PROPOSALS)
def test_measures_are_those_of_the_textbook(rows):
    ranked = sorted(rows, key=lambda row: (-row[3], *row[:3]))
    hits = [sum(row[4] for row in ranked[:n]) for n in range(len(ranked) + 1)]
    s, r, o, scores, right, _ = np.array(rows).T
    found = proposed(np.stack([s, r, o], 1), scores, right, hidden=hits[-1] + 1)
    assert [found.right_at(n) for n in range(1, len(rows) + 1)] == hits[1:]
    precisions = [hits[n] / n for n in range(1, len(hits)) if ranked[n - 1][4]]
    assert found.average_precision == pytest.approx(sum(precisions) / (hits[-1] + 1))
    assert found.facts_at_precision(0.5) == max([n for n in range(1, len(hits)) if 2 * hits[n] >= n], default=0)


def test_a_summary_is_json_and_holds_every_figure(five):
    found = five.summary((2, 4), (0.75,), resamples=50)
    low, high = five.precision_intervals((2, 4), resamples=50)[4]
    value = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert value == found.as_json()
    assert {name: value[name] for name in ("proposals", "right", "hidden")} == {"proposals": 5, "right": 3, "hidden": 6}
    assert value["average_precision"] == five.average_precision
    assert value["facts_at_precision"] == {"0.75": 4}
    assert value["tops"][1] == {"n": 4, "right": 3, "precision": 0.75, "low": low, "high": high, "recall": 0.5}
