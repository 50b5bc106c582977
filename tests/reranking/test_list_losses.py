"""Losses over lists, computed on paper."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from cear.reranking.losses import LIST_LOSSES, bce, softmax

INF = math.inf


def lists(*rows: list[float]) -> Tensor:
    return torch.tensor(rows, requires_grad=True)


def flags(*rows: str) -> Tensor:
    """`x` is true."""
    return torch.tensor([[letter == "x" for letter in row] for row in rows])


def test_bce_is_the_mean_over_all_real_candidates() -> None:
    # σ(0) = 1/2 and σ(log 3) = 3/4; the last place of the second list is padded.
    scores = lists([0.0, math.log(3)], [math.log(3), 99.0])
    expected = -(math.log(1 / 2) + math.log(1 - 3 / 4) + math.log(3 / 4)) / 3
    assert bce(scores, flags("x.", "x."), flags("xx", "x.")).item() == pytest.approx(expected)


def test_softmax_compares_each_answer_with_those_that_are_none() -> None:
    # Answers e^s = 2 and 3 against 1 + 4: P = 2/7 and 3/8, whose mean counts once; then a list with P = 1/2.
    scores = lists([math.log(2), math.log(3), 0.0, math.log(4)], [1.0, 1.0, 99.0, 99.0])
    loss = softmax(scores, flags("xx..", "x..."), flags("xxxx", "xx.."))
    first = -(math.log(2 / 7) + math.log(3 / 8)) / 2
    assert loss.item() == pytest.approx((first + math.log(2)) / 2)


@pytest.mark.parametrize("name", sorted(LIST_LOSSES))
class TestEvery:
    def test_a_padded_place_has_no_part_in_it(self, name: str) -> None:
        for value in (-50.0, 0.0, 50.0):
            scores = lists([0.5, -0.5, value])
            loss = LIST_LOSSES[name](scores, flags("x.."), flags("xx."))
            (gradient,) = torch.autograd.grad(loss, scores)
            assert loss.item() == pytest.approx(LIST_LOSSES[name](scores[:, :2], flags("x."), flags("xx")).item())
            assert gradient[0, 2] == 0

    @pytest.mark.parametrize(
        ("positive", "real"),
        [("xx", "xx"), ("x.", "x."), ("..", "xx"), ("..", ".x")],
        ids=["only answers", "an answer and a pad", "no answer", "no answer, a pad"],
    )
    def test_gradients_are_finite_for_every_kind_of_list(self, name: str, positive: str, real: str) -> None:
        scores = lists([1.0, -1.0], [0.3, 0.2])
        loss = LIST_LOSSES[name](scores, flags(positive, "x."), flags(real, "xx"))
        (gradient,) = torch.autograd.grad(loss, scores)
        assert torch.isfinite(loss)
        assert torch.isfinite(gradient).all()

    def test_an_answer_above_the_others_costs_less(self, name: str) -> None:
        good, bad = lists([3.0, -1.0, -1.0]), lists([-1.0, 3.0, -1.0])
        labels, real = flags("x.."), flags("xxx")
        assert LIST_LOSSES[name](good, labels, real) < LIST_LOSSES[name](bad, labels, real)
