"""What attention between candidates brings, on ranks that can be counted on paper."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from cear.core.errors import MismatchError
from cear.core.types import Queries, Ranks
from cear.data import KnowledgeBase, Vocabulary
from cear.evaluation import Evaluation, compare, compare_seeds, evaluate
from cear.study.attention import attention_effect, holm

FACTS = [(i, 0, 30 + i) for i in range(30)] + [(i, 1, 30 + i) for i in range(5)]  # 70 queries, each asked once


class Random:
    """A scorer whose scores are drawn; the ranks of these tests are put in later."""

    def score_all(self, queries: Queries) -> torch.Tensor:
        return torch.rand(len(queries), 60, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def asked() -> Evaluation:
    """60 queries of r0 and 10 of r1: first all for tails, then all for heads."""
    entities = Vocabulary.from_ids("entity", [f"e{i}" for i in range(60)])
    relations = Vocabulary.from_ids("relation", ["r0", "r1"])
    return evaluate(Random(), KnowledgeBase("toy", entities, relations, {"test": np.array(FACTS)}), "test")


@pytest.fixture
def relation(asked: Evaluation) -> Any:
    return asked.asked_relations


def ranked(asked: Evaluation, ranks: Any) -> Evaluation:
    above = np.broadcast_to(np.asarray(ranks, np.int64) - 1, 70).copy()
    return replace(asked, ranks=Ranks(above, np.zeros_like(above)))


NONE_KNOWN = np.zeros(70, np.int64)


class TestSeeds:
    def test_a_query_has_the_mean_over_them(self, asked: Evaluation) -> None:
        """One seed gains 1 - 1/2, the other loses 1 - 1/4: together they lose 1/8 on every query."""
        cross = [ranked(asked, 1), ranked(asked, 4)]
        independent = [ranked(asked, 2), ranked(asked, 1)]
        effect = attention_effect(cross, independent, NONE_KNOWN)
        assert effect.by_seed == (0.5, -0.75)
        assert effect.all.mrr.difference == pytest.approx(-0.125)
        assert (effect.all.mrr.low, effect.all.mrr.high) == pytest.approx((-0.125, -0.125))
        assert effect.all.hits1.difference == 0
        assert (effect.all.mrr.first, effect.all.mrr.second) == (0.75, 0.625), "independent first"

    def test_more_of_them_are_no_more_queries(self, asked: Evaluation) -> None:
        first, second = ranked(asked, 2), ranked(asked, np.where(np.arange(70) < 5, 1, 2))
        once, thrice = (compare_seeds([first] * n, [second] * n) for n in (1, 3))
        assert once == compare(first, second)
        assert thrice["mrr"].p == once["mrr"].p == pytest.approx(2 / 2**5, abs=0.01)
        assert (thrice["mrr"].low, thrice["mrr"].high) == pytest.approx((once["mrr"].low, once["mrr"].high))

    def test_come_in_pairs(self, asked: Evaluation) -> None:
        one = ranked(asked, 1)
        for cross, independent in (([one], [one, one]), ([], [])):
            with pytest.raises(MismatchError, match="Give one of each for every seed"):
                attention_effect(cross, independent, NONE_KNOWN)

    def test_of_other_queries_are_refused(self, asked: Evaluation) -> None:
        one, other = ranked(asked, 1), replace(ranked(asked, 1), split="valid")
        with pytest.raises(MismatchError, match="different queries"):
            attention_effect([one, other], [one, one], NONE_KNOWN)


def test_by_known_answers_every_query_is_in_one_group(asked: Evaluation) -> None:
    known = np.zeros(70, np.int64)
    known[:9] = [1, 2, 3, 5, 6, 20, 21, 99, 1000]
    gains = np.where(known >= 21, 1, 2)
    found = attention_effect([ranked(asked, gains)], [ranked(asked, 2)], known).by_known
    assert [(each.name, each.queries) for each in found] == [("0", 61), ("1", 1), ("2-5", 3), ("6-20", 2), (">20", 3)]
    assert [each.hits1.difference for each in found] == [0, 0, 0, 0, 1]
    few = attention_effect([ranked(asked, 1)], [ranked(asked, 2)], np.ones(70, np.int64)).by_known
    assert [each.name for each in few] == ["1"], "groups without queries are left out"


def test_known_answers_of_other_queries_are_refused(asked: Evaluation) -> None:
    with pytest.raises(MismatchError, match=r"of 69 queries were given, but 70 were evaluated"):
        attention_effect([ranked(asked, 1)], [ranked(asked, 1)], NONE_KNOWN[1:])


class TestRelations:
    def test_with_enough_queries_are_compared_on_their_own(self, asked: Evaluation, relation: Any) -> None:
        arms = [ranked(asked, np.where(relation == 1, 1, 2))], [ranked(asked, 2)]
        assert [each.name for each in attention_effect(*arms, NONE_KNOWN).by_relation] == ["r0"]
        both = attention_effect(*arms, NONE_KNOWN, enough=10).by_relation
        assert [(each.name, each.queries, each.mrr.difference) for each in both] == [("r0", 60, 0.0), ("r1", 10, 0.5)]

    def test_differ_only_after_a_correction(self, asked: Evaluation, relation: Any) -> None:
        """Six queries of r1 gain: p = 2/2^6, about .031, which two looks make .063; seven have half of that."""
        names = []
        for gaining in (6, 7):
            gains = (relation == 1) & (np.cumsum(relation == 1) <= gaining)
            effect = attention_effect([ranked(asked, np.where(gains, 1, 2))], [ranked(asked, 2)], NONE_KNOWN, enough=10)
            assert effect.by_relation[1].mrr.p == pytest.approx(2 / 2**gaining, abs=0.005)
            names.append(effect.differing())
        assert names == [(), ("r1",)]


def test_holm_on_paper() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06]), "no p falls below a smaller one's"
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_as_json_it_is_json_with_all_parts(asked: Evaluation) -> None:
    effect = attention_effect([ranked(asked, 1)], [ranked(asked, 2)], NONE_KNOWN)
    read = json.loads(json.dumps(effect.as_json()))
    assert read["all"]["mrr"]["difference"] == 0.5
    assert read["differing"] == ["r0"]
    assert [each["name"] for each in read["by_known"]] == ["0"]
    assert read["by_relation"][0]["queries"] == 60
    assert read["by_seed"] == [0.5]
