"""The evaluation of a split: who is filtered, who is counted, and how sure one can be."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from cear.core.errors import DataError, MismatchError
from cear.core.types import Queries, Ranks
from cear.data import KnowledgeBase
from cear.evaluation import MRR, asking, evaluate, measure, valid_mrr
from cear.evaluation.resampling import Clusters, bootstrap_means, percentiles

MEASURES = ["mrr", "hits@1", "hits@3", "hits@10", "hits@50"]


@pytest.fixture
def paper_case(kb_of, table_scorer):
    """Four entities, one relation; train ⟨0, r, 1⟩, valid ⟨0, r, 2⟩, test ⟨0, r, 3⟩; small enough for paper."""
    splits = {"train": np.array([[0, 0, 1]]), "valid": np.array([[0, 0, 2]]), "test": np.array([[0, 0, 3]])}
    kb = kb_of(splits, n_entities=4, n_relations=1)
    tails = torch.tensor([[0.5, 0.9, 0.8, 0.7]]).repeat(4, 1)  # order 1, 2, 3, 0
    heads = torch.tensor([[0.1, 0.4, 0.3, 0.1]]).repeat(4, 1)  # order 1, 2, then 0 and 3 level
    return kb, table_scorer(torch.stack([tails, heads]))


def test_a_golden_case(paper_case):
    kb, scorer = paper_case
    evaluation = evaluate(scorer, kb, "test")
    # ⟨0, r, ?⟩ = 3: entities 1 and 2 are known and go, rank 1. ⟨?, r, 3⟩ = 0: 1 and 2 above, 3 level, rank 3.5.
    assert evaluation.ranks.under().tolist() == [1.0, 3.5]
    assert evaluation.summary()["tail"]["mrr"] == 1.0
    assert evaluation.summary()["head"]["mrr"] == 1 / 3.5
    assert evaluation.summary()["both"]["mrr"] == (1 + 1 / 3.5) / 2


def test_lists_as_retrieved_and_without_training_answers_come_from_the_same_scores(paper_case):
    kb, scorer = paper_case
    evaluation = evaluate(scorer, kb, "test")
    assert len(scorer.asked) == 1 + 2, "one to learn the width, then each distinct query once"
    assert evaluation.retrieved.under().tolist() == [3.0, 3.5]
    assert evaluation.fresh.under().tolist() == [2.0, 3.5]
    assert evaluation.recall([2, 3, 4]) == {
        "kept": {"recall@2": 0.0, "recall@3": 0.5, "recall@4": 1.0},
        "dropped": {"recall@2": 0.5, "recall@3": 0.5, "recall@4": 1.0},
    }


def test_validation_filters_by_train_and_valid_only(paper_case):
    kb, scorer = paper_case
    scorer.table[0, :, 3] = 1.0  # the test answer on top of the list: no filter takes it away at validation
    assert evaluate(scorer, kb, "valid").ranks.under()[0] == 2.0


def test_poisoned_test_facts_change_nothing_in_validation(random_kb, scorer_for, kb_of):
    kb = random_kb()
    poison = np.random.default_rng(9).integers(0, [40, 3, 40], (500, 3))
    splits = {"train": kb.facts("train"), "valid": kb.facts("valid"), "test": poison}
    poisoned = kb_of(splits, n_entities=40, n_relations=3)
    clean, other = (evaluate(scorer_for(kb, values=6), each, "valid") for each in (kb, poisoned))
    assert np.array_equal(clean.ranks.above, other.ranks.above)
    assert np.array_equal(clean.ranks.tied, other.ranks.tied)
    assert clean.summary() == other.summary()
    assert clean.intervals() == other.intervals()
    assert clean.by_cardinality() == other.by_cardinality()
    assert clean.recall() == other.recall()
    assert clean.leak == other.leak


def test_validation_does_not_even_read_the_test_facts(random_kb, scorer_for):
    class Sealed(KnowledgeBase):
        def facts(self, split):
            assert split != "test", "the test facts were read"
            return super().facts(split)

    kb = random_kb()
    sealed = Sealed(kb.name, kb.entities, kb.relations, {s: kb.facts(s) for s in ("train", "valid", "test")})
    assert len(evaluate(scorer_for(kb), sealed, "valid").queries) == 2 * len(kb.facts("valid"))


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_no_query_is_dropped(random_kb, scorer_for, split):
    kb = random_kb()
    evaluation = evaluate(scorer_for(kb), kb, split)
    assert len(evaluation.ranks) == len(evaluation.queries) == 2 * len(kb.facts(split))
    assert evaluation.asks_head.sum() == len(kb.facts(split))


def test_an_evaluation_that_lost_a_query_cannot_be_made(random_kb, scorer_for):
    evaluation = evaluate(scorer_for(kb := random_kb()), kb, "test")
    with pytest.raises(MismatchError, match="Every query must keep its rank"):
        replace(evaluation, ranks=evaluation.ranks[:-1])


def test_queries_must_be_both_questions_of_each_fact(random_kb, scorer_for):
    evaluation = evaluate(scorer_for(kb := random_kb()), kb, "test")
    with pytest.raises(MismatchError, match="both questions of the same facts"):
        replace(evaluation, gold=evaluation.gold[::-1])


def test_an_empty_split_is_an_error(kb_of, scorer_for):
    kb = kb_of({"train": np.array([[0, 0, 1]])}, n_entities=2, n_relations=1)
    with pytest.raises(DataError, match="'toy' has no test facts"):
        evaluate(scorer_for(kb), kb, "test")


def test_summary_holds_every_measure_of_every_side_and_both_is_their_mean(random_kb, scorer_for):
    summary = evaluate(scorer_for(kb := random_kb()), kb, "test").summary()
    assert list(summary) == ["both", "head", "tail"]
    for name in MEASURES:
        assert summary["both"][name] == pytest.approx((summary["head"][name] + summary["tail"][name]) / 2)


def test_the_tie_rule_is_a_choice(random_kb, scorer_for):
    kb = random_kb()
    rules = ("pessimistic", "expected", "optimistic")
    mrr = [evaluate(scorer_for(kb, values=3), kb, "test", ties=rule).summary()["both"]["mrr"] for rule in rules]
    assert mrr[0] < mrr[1] < mrr[2]


def test_breakdown_by_cardinality_covers_every_query_once(random_kb, scorer_for):
    evaluation = evaluate(scorer_for(kb := random_kb()), kb, "test")
    classes = evaluation.by_cardinality()
    assert sum(values["queries"] for side in classes.values() for values in side.values()) == len(evaluation.queries)
    weighted = sum(values["queries"] * values["mrr"] for values in classes["head"].values())
    assert weighted / evaluation.facts == pytest.approx(evaluation.summary()["head"]["mrr"])


def test_breakdown_by_inverse_tells_facts_that_stand_in_train_the_other_way_round(kb_of, scorer_for):
    splits = {"train": np.array([[1, 0, 0], [2, 0, 3]]), "test": np.array([[0, 0, 1], [0, 0, 2]])}
    evaluation = evaluate(scorer_for(kb := kb_of(splits, n_entities=4, n_relations=1)), kb, "test")
    assert evaluation.inverse_known.tolist() == [True, False, True, False], "of both questions of each fact"
    found = evaluation.by_inverse()
    assert {name: values["queries"] for name, values in found.items()} == {"inverse in train": 2, "rest": 2}
    mean = (found["inverse in train"]["mrr"] + found["rest"]["mrr"]) / 2
    assert mean == pytest.approx(evaluation.summary()["both"]["mrr"])


def test_cardinality_is_that_of_training_facts(kb_of, scorer_for):
    splits = {"train": np.array([[0, 0, 2], [1, 0, 2]]), "test": np.array([[3, 0, 2], [3, 1, 2]])}
    kb = kb_of(splits, n_entities=4, n_relations=2)
    classes = evaluate(scorer_for(kb), kb, "test").by_cardinality()
    assert {side: sorted(values) for side, values in classes.items()} == {
        "head": ["n-1", "unseen"],
        "tail": ["n-1", "unseen"],
    }


def test_without_training_facts_every_relation_is_unseen(kb_of, scorer_for):
    kb = kb_of({"test": np.array([[0, 0, 1]])}, n_entities=3, n_relations=1)
    assert list(evaluate(scorer_for(kb), kb, "test").by_cardinality()["tail"]) == ["unseen"]


class TestIntervals:
    def test_they_hold_the_value_and_are_the_same_for_the_same_seed(self, random_kb, scorer_for):
        evaluation = evaluate(scorer_for(kb := random_kb()), kb, "test")
        intervals, summary = evaluation.intervals(seed=3), evaluation.summary()
        for side in ("both", "head", "tail"):
            for name in MEASURES:
                low, high = intervals[side][name]
                assert low <= summary[side][name] <= high
        assert intervals == evaluation.intervals(seed=3) != evaluation.intervals(seed=4)

    def test_a_certain_value_has_no_width(self, random_kb, scorer_for):
        evaluation = evaluate(scorer_for(kb := random_kb()), kb, "test")
        zeros = np.zeros(len(evaluation.queries), np.int64)
        assert replace(evaluation, ranks=Ranks(zeros, zeros)).intervals()["both"]["mrr"] == (1.0, 1.0)

    def test_two_distinct_queries_can_be_drawn_in_four_ways(self, kb_of, scorer_for):
        """⟨0, r, ?⟩ has three facts, all ranked first; ⟨4, r, ?⟩ has one, ranked second. Tails: AA, AB, BA, BB."""
        kb = kb_of({"test": np.array([[0, 0, 1], [0, 0, 2], [0, 0, 3], [4, 0, 5]])}, n_entities=6, n_relations=1)
        above = np.array([0, 0, 0, 1, 0, 0, 0, 0])
        evaluation = replace(evaluate(scorer_for(kb), kb, "test"), ranks=Ranks(above, 0 * above))
        # Sum over size: AA 6/6, AB 3.5/4, BB 1/2; a quarter each of AA and BB, so 60 % lies between them.
        assert evaluation.intervals(level=0.6)["tail"]["mrr"] == (0.5, 1.0)
        assert evaluation.intervals(level=0.4)["tail"]["mrr"] == (0.875, 0.875)
        assert evaluation.intervals()["head"]["mrr"] == (1.0, 1.0)

    @pytest.mark.parametrize("facts_each", [1, 9])
    def test_facts_that_share_a_query_count_as_one_draw(self, kb_of, scorer_for, facts_each):
        """100 distinct queries, half of them right: the width is that of 100 draws, however many facts each has."""
        subjects = np.repeat(np.arange(100), facts_each)
        objects = 100 + np.arange(100 * facts_each)
        facts = np.stack([subjects, 0 * subjects, objects], axis=1)
        kb = kb_of({"test": facts}, n_entities=100 + len(facts), n_relations=1)
        above = np.tile(subjects % 2 * 1000, 2)
        evaluation = replace(evaluate(scorer_for(kb), kb, "test"), ranks=Ranks(above, 0 * above))
        intervals = evaluation.intervals(resamples=4000)
        width = {side: ends["hits@1"][1] - ends["hits@1"][0] for side, ends in intervals.items()}
        assert width["tail"] == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(100), rel=0.1)
        assert width["head"] == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(100 * facts_each), rel=0.1)

    def test_nineteen_in_twenty_hold_the_truth(self):
        """Coverage on samples whose facts are alike within a query, through the same resampling."""
        rng = np.random.default_rng(0)
        place = np.repeat(np.arange(100), 5)
        samples = rng.exponential(size=(300, 100))[:, place]
        together, alone = (self.share_that_holds_one(samples, asked) for asked in (place, np.arange(500)))
        assert 0.88 <= together <= 0.98
        assert alone < 0.75, "facts drawn one by one promise too much"

    def share_that_holds_one(self, samples, asked):
        queries = Queries(asked, np.zeros_like(asked))
        held = 0
        for seed, sample in enumerate(samples):
            means = bootstrap_means(Clusters.of(queries, sample[:, None]), resamples=300, seed=seed)
            low, high = percentiles(means, 0.95)
            held += low[0] <= 1.0 <= high[0]
        return held / len(samples)


class TestRecall:
    """It is that of Stage 1's lists."""

    def test_after_re_ranking_it_is_not_answered_with_stage_1s(self, random_kb, scorer_for):
        before = evaluate(scorer_for(kb := random_kb()), kb, "test")
        first = np.zeros(len(before.queries), np.int64)
        after = replace(before, ranks=Ranks(first, first), before=before)
        assert before.recall((1,))["kept"]["recall@1"] < 1
        with pytest.raises(MismatchError, match=r"Ask `evaluation\.before\.recall\(\)`"):
            after.recall((1,))


def test_measure_of_the_ranks_is_the_summary(random_kb, scorer_for):
    evaluation = evaluate(scorer_for(kb := random_kb()), kb, "test")
    assert measure(evaluation.ranks, "expected", [MRR()])["mrr"] == evaluation.summary()["both"]["mrr"]


def test_with_many_entities_a_sample_of_validation_chooses(
    towns: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Watched:
        n_entities = towns.n_entities

        def score_all(self, queries: Queries) -> torch.Tensor:
            asked.append(len(queries))
            return torch.arange(float(self.n_entities)).expand(len(queries), -1)

    everything = valid_mrr(towns)(Watched())
    assert max(asked) == len(towns.queries("valid").distinct()[0])
    asked.clear()
    monkeypatch.setattr(asking, "_MOST_SCORES", 2 * 3 * towns.n_entities)
    assert valid_mrr(towns)(Watched()) != everything
    assert 4 <= max(asked) <= 6, "both questions of three facts"
