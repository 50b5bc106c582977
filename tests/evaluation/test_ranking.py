"""Filtered ranks: golden cases on paper, and what must hold for any scores."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cear.core.errors import ScoreError
from cear.core.types import Queries, Ragged
from cear.evaluation import MRR, measure, rank, rank_all, rank_under_filters

NOTHING_KNOWN = Ragged(np.array([0, 0]), np.array([], np.int64))


def ragged(*rows):
    return Ragged(np.cumsum([0, *map(len, rows)]), np.array([value for row in rows for value in row], np.int64))


def brute_force(scores, gold, known, ties):
    """The rank by the textbook: take known answers out of the list, then look where the gold is."""
    left = [score for entity, score in enumerate(scores) if entity == gold or entity not in known]
    above = sum(score > scores[gold] for score in left)
    level = sum(score == scores[gold] for score in left)
    return {"optimistic": above + 1, "pessimistic": above + level, "expected": above + (level + 1) / 2}[ties]


class TestGoldenCases:
    scores = torch.tensor([[0.9, 0.5, 0.8, 0.5, 0.5, 0.1]])

    def test_without_known_answers_everybody_above_counts(self):
        ranks = rank(self.scores, np.array([1]), NOTHING_KNOWN)
        assert (ranks.above.tolist(), ranks.tied.tolist()) == ([2], [2])

    def test_the_three_tie_rules(self):
        ranks = rank(self.scores, np.array([1]), NOTHING_KNOWN)
        rules = {rule: ranks.under(rule).tolist() for rule in ("optimistic", "expected", "pessimistic")}
        assert rules == {"optimistic": [3.0], "expected": [4.0], "pessimistic": [5.0]}

    def test_known_answers_above_and_level_leave_the_ranking_and_those_below_do_not_matter(self):
        ranks = rank(self.scores, np.array([1]), ragged([0, 1, 4, 5]))
        assert (ranks.above.tolist(), ranks.tied.tolist()) == ([1], [1])

    def test_the_gold_need_not_be_among_the_known_answers(self):
        with_gold, without = (rank(self.scores, np.array([1]), ragged(known)) for known in ([0, 1], [0]))
        assert with_gold.above == without.above == 1
        assert with_gold.tied == without.tied == 2

    def test_two_golds_of_one_query_do_not_see_each_other(self):
        known = ragged([0, 2], [0, 2])
        ranks = rank(self.scores.repeat(2, 1), np.array([0, 2]), known)
        assert ranks.under().tolist() == [1.0, 1.0]


class TestScoresThatCannotBeRanked:
    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
    def test_a_score_that_is_not_finite_is_refused_with_its_query(self, bad):
        scores = torch.zeros(3, 4)
        scores[2, 1] = bad
        with pytest.raises(ScoreError, match=rf"query 2 is {bad}"):
            rank(scores, np.zeros(3, np.int64), ragged([], [], []))

    def test_the_message_names_entity_and_relation_when_they_are_known(self, random_kb, scorer_for):
        kb = random_kb()
        scorer = scorer_for(kb)
        queries = kb.queries("test")
        scorer.table[queries.relation[5], queries.entity[5], 0] = float("nan")
        with pytest.raises(ScoreError, match=rf"entity {queries.entity[5]}, relation {queries.relation[5]}, \?"):
            rank_all(scorer, queries, kb.gold("test"), kb.known("train"))

    @pytest.mark.parametrize(
        ("shape", "golds", "rows"), [((2, 4), 3, 2), ((3, 4), 3, 2), ((2, 4, 1), 2, 2)], ids=["gold", "known", "3-d"]
    )
    def test_shapes_that_do_not_fit(self, shape, golds, rows):
        with pytest.raises(ScoreError, match="one gold and one row for each query"):
            rank(torch.zeros(shape), np.zeros(golds, np.int64), ragged(*[[]] * rows))

    def test_a_gold_that_has_no_score(self):
        with pytest.raises(ScoreError, match="scores of 4 entities, but the golds go from 4 to 4"):
            rank(torch.zeros(1, 4), np.array([4]), NOTHING_KNOWN)

    def test_a_scorer_that_answers_fewer_queries_than_asked(self, random_kb):
        class Short:
            def score_all(self, queries):
                return torch.zeros(len(queries) - 1, 40)

        kb = random_kb()
        with pytest.raises(ScoreError, match=r"Short\.score_all returned the shape"):
            rank_all(Short(), kb.queries("test"), kb.gold("test"), kb.known("train"), block=8)


class TestChance:
    @pytest.mark.parametrize("n", [1, 2, 10, 500])
    def test_a_scorer_that_ties_everything_gets_two_over_n_plus_one(self, n):
        ranks = rank(torch.full((1, n), 3.14), np.array([n // 2]), NOTHING_KNOWN)
        mrr = measure(ranks, "expected", [MRR()])["mrr"]
        chance = sum(1 / position for position in range(1, n + 1)) / n
        assert mrr == pytest.approx(2 / (n + 1))
        assert mrr <= chance + 1e-12


scores_with_ties = hnp.arrays(
    np.float32, st.tuples(st.integers(1, 5), st.integers(1, 12)), elements=st.integers(-3, 3).map(float)
)


@given(scores=scores_with_ties, data=st.data())
def test_ranks_are_those_of_the_textbook(scores, data):
    entity = st.integers(0, scores.shape[1] - 1)
    gold = data.draw(st.lists(entity, min_size=len(scores), max_size=len(scores)))
    known = data.draw(st.lists(st.sets(entity), min_size=len(scores), max_size=len(scores)))
    before = scores.copy()
    ranks = rank(torch.from_numpy(scores), np.array(gold), ragged(*map(sorted, known)))
    for ties in ("optimistic", "expected", "pessimistic"):
        expected = [brute_force(*each, ties) for each in zip(scores, gold, known, strict=True)]
        assert ranks.under(ties).tolist() == expected
    assert (ranks.under("optimistic") <= ranks.under("expected")).all()
    assert (ranks.under("expected") <= ranks.under("pessimistic")).all()
    assert np.array_equal(scores, before), "scores are read, never written"


@pytest.mark.parametrize("values", [None, 4], ids=["real", "ties"])
@pytest.mark.parametrize("block", [1, 7, 1000])
def test_the_block_size_changes_nothing(random_kb, scorer_for, values, block):
    kb = random_kb()
    queries, gold, known = kb.queries("test"), kb.gold("test"), kb.known("train", "valid", "test")
    scorer = scorer_for(kb, values=values)
    at_once = rank(scorer.score_all(queries), gold, known.of_queries(queries))
    blocked = rank_all(scorer, queries, gold, known, block=block)
    assert np.array_equal(blocked.above, at_once.above)
    assert np.array_equal(blocked.tied, at_once.tied)


def test_the_default_block_keeps_to_its_memory(random_kb, scorer_for, monkeypatch):
    kb = random_kb()
    scorer = scorer_for(kb)
    sizes = []
    monkeypatch.setattr("cear.evaluation.scores.MEMORY", 4 * kb.n_entities * 5)
    original = scorer.score_all
    scorer.score_all = lambda queries: sizes.append(len(queries)) or original(queries)
    rank_all(scorer, kb.queries("test"), kb.gold("test"), kb.known("train"))
    assert max(sizes) == 5


def test_a_query_with_many_golds_is_scored_once(kb_of, scorer_for):
    answers = np.array([[0, 0, tail] for tail in range(1, 9)])
    kb = kb_of({"test": answers}, n_entities=10, n_relations=1)
    scorer = scorer_for(kb)
    ranks = rank_all(scorer, kb.queries("test"), kb.gold("test"), kb.known("test"), block=100)
    assert sorted(scorer.asked) == [(0, 0), *((tail, 1) for tail in range(1, 9))]
    assert len(ranks) == 16


def test_several_filters_from_one_scoring(random_kb, scorer_for):
    kb = random_kb()
    queries, gold = kb.queries("test"), kb.gold("test")
    filters = {"none": None, "train": kb.known("train"), "all": kb.known("train", "valid", "test")}
    scorer = scorer_for(kb, values=5)
    together = rank_under_filters(scorer, queries, gold, filters, block=9)
    assert len(scorer.asked) == len(set(scorer.asked))
    for name in ("train", "all"):
        alone = rank_all(scorer_for(kb, values=5), queries, gold, filters[name])
        assert np.array_equal(together[name].above, alone.above)
        assert np.array_equal(together[name].tied, alone.tied)
    # A wider filter can only improve a rank.
    assert (together["all"].above <= together["train"].above).all()
    assert (together["train"].above <= together["none"].above).all()
    assert (together["all"].above < together["none"].above).any()


def test_no_queries_no_ranks(random_kb, scorer_for):
    kb = random_kb()
    empty = Queries(np.array([], np.int64), np.array([], np.int64))
    assert len(rank_all(scorer_for(kb), empty, empty.entity, kb.known("train"))) == 0


def test_permuting_which_answer_is_the_gold_changes_no_score_and_no_ranking(kb_of, scorer_for):
    """Each known answer in turn is the gold: what the scorer is asked stays the same, and so does its order."""
    kb = kb_of({"test": np.array([[0, 0, tail] for tail in (2, 5, 7)])}, n_entities=9, n_relations=1)
    queries = Queries(np.zeros(3, np.int64), np.zeros(3, np.int64))
    asked, standings = [], []
    for shift in range(3):
        scorer = scorer_for(kb, values=4)
        gold = np.roll([2, 5, 7], shift)
        ranks = rank_all(scorer, queries, gold, kb.known("test"), block=2)
        asked.append(scorer.asked)
        standings.append(sorted(zip(gold.tolist(), ranks.above.tolist(), ranks.tied.tolist(), strict=True)))
    assert asked[0] == asked[1] == asked[2]
    assert standings[0] == standings[1] == standings[2]
