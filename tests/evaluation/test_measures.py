"""Measures of ranks, by hand."""

import numpy as np
import pytest

from cear.core.types import Ranks
from cear.evaluation import MRR, STANDARD, Hits, measure


def test_names_are_those_of_the_records():
    assert [each.name for each in STANDARD] == ["mrr", "hits@1", "hits@3", "hits@10", "hits@50"]


def test_values_per_query():
    ranks = np.array([1.0, 1.5, 2.0, 50.0, 51.0])
    assert MRR()(ranks).tolist() == [1.0, 1 / 1.5, 0.5, 0.02, 1 / 51]
    assert Hits(1)(ranks).tolist() == [1, 0, 0, 0, 0]
    assert Hits(50)(ranks).tolist() == [1, 1, 1, 1, 0]


def test_means_under_each_tie_rule():
    ranks = Ranks(above=np.array([0, 3]), tied=np.array([1, 0]))  # between 1 and 2; exactly 4
    assert measure(ranks, "optimistic")["mrr"] == (1 + 0.25) / 2
    assert measure(ranks, "expected")["mrr"] == pytest.approx((1 / 1.5 + 0.25) / 2)
    assert measure(ranks, "pessimistic")["mrr"] == (0.5 + 0.25) / 2
    assert [measure(ranks, rule)["hits@1"] for rule in ("optimistic", "expected", "pessimistic")] == [0.5, 0, 0]


def test_measures_are_compared_by_value():
    assert Hits(3) == Hits(3) != Hits(10)
