"""The figures of an evaluation, relation by relation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cear.core.types import Ranks
from cear.evaluation import by_relation, evaluate


@pytest.fixture
def evaluation(kb_of, scorer_for):
    """Three test facts of r0 and one of r2; the ranks are 1, 2, 4, 10 of tails, and 1, 1, 1, 20 of heads."""
    splits = {"train": np.array([[0, 1, 1]]), "test": np.array([[0, 0, 1], [1, 2, 2], [2, 0, 3], [3, 0, 0]])}
    kb = kb_of(splits, n_entities=4, n_relations=3)
    ranks = Ranks(np.array([1, 2, 4, 10, 1, 1, 1, 20]) - 1, np.zeros(8, np.int64))
    return replace(evaluate(scorer_for(kb), kb, "test"), ranks=ranks)


def test_each_relation_that_is_asked_for_has_its_own_means(evaluation) -> None:
    table = by_relation(evaluation)
    assert table.select("relation", "name", "side", "queries").rows() == [
        (0, "r0", "both", 6),
        (0, "r0", "head", 3),
        (0, "r0", "tail", 3),
        (2, "r2", "both", 2),
        (2, "r2", "head", 1),
        (2, "r2", "tail", 1),
    ], "r1 is not asked for"
    tails = table.row(2, named=True)  # ranks 1, 4, 10
    assert tails["mrr"] == pytest.approx((1 + 1 / 4 + 1 / 10) / 3)
    assert [tails[f"hits@{k}"] for k in (1, 3, 10)] == pytest.approx([1 / 3, 1 / 3, 1])
    assert table.row(3, named=True)["mrr"] == pytest.approx((1 / 2 + 1) / 2), "of r2, both sides"


def test_the_first_stage_stands_beside_the_second(evaluation) -> None:
    assert not [column for column in by_relation(evaluation).columns if column.startswith("stage1")]
    first = replace(evaluation, ranks=Ranks(np.full(8, 1), np.zeros(8, np.int64)))  # all second
    table = by_relation(replace(evaluation, before=first))
    assert set(table["stage1_mrr"].to_list()) == {0.5}
    assert table["mrr"].to_list() == by_relation(evaluation)["mrr"].to_list()


def test_ties_count_as_the_evaluation_says(evaluation) -> None:
    tied = replace(evaluation, ranks=Ranks(np.zeros(8, np.int64), np.full(8, 2)))  # one of three, whichever
    assert by_relation(tied)["hits@1"].sum() == 0
    assert by_relation(replace(tied, ties="optimistic"))["hits@1"].to_list() == [1.0] * 6


def test_the_means_of_all_relations_are_those_of_the_whole(random_kb, scorer_for) -> None:
    kb = random_kb()
    whole = evaluate(scorer_for(kb), kb, "test")
    for side, summary in whole.summary().items():
        rows = by_relation(whole).filter(side=side)
        assert np.average(rows["mrr"], weights=rows["queries"]) == pytest.approx(summary["mrr"])
