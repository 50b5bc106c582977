"""Losses against arithmetic on paper, PyTorch's own, and literal loops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cear.core.types import Queries, Ragged
from cear.retrieval.batches import Batch
from cear.retrieval.losses import LOSSES, BceLoss, InfoNceLoss, Loss, SelfAdversarialLoss, SoftmaxLoss

softmax, bce, self_adversarial, info_nce = KINDS = SoftmaxLoss(), BceLoss(), SelfAdversarialLoss(), InfoNceLoss()


def batch_of(answers: list[list[int]], among: list[int] | None = None) -> Batch:
    """Queries with these answers; which queries they are does not matter to a loss."""
    offsets = np.cumsum([0, *map(len, answers)])
    values = np.array([answer for row in answers for answer in row], np.int64)
    nobody = np.zeros(len(answers), np.int64)
    return Batch(Queries(nobody, nobody), Ragged(offsets, values), None if among is None else np.array(among))


def random_case(seed: int, *, queries: int = 5, entities: int = 7) -> tuple[torch.Tensor, list[list[int]]]:
    """Scores, and one to all-but-one answers a query."""
    rng = np.random.default_rng(seed)
    scores = torch.from_numpy(rng.normal(scale=3, size=(queries, entities)))
    answers = [sorted(rng.choice(entities, rng.integers(1, entities), replace=False).tolist()) for _ in range(queries)]
    return scores, answers


def per_fact_cross_entropy(scores: torch.Tensor, answers: list[list[int]]) -> torch.Tensor:
    """The textbook: one row of scores and one target for every fact, nothing grouped."""
    rows = [row for row, found in enumerate(answers) for _ in found]
    targets = torch.tensor([answer for found in answers for answer in found])
    return torch.nn.functional.cross_entropy(scores[rows], targets)


def test_every_loss_is_covered_here() -> None:
    assert {type(loss) for loss in KINDS} == set(LOSSES.values())


class TestSoftmax:
    def test_a_golden_case(self) -> None:
        scores = torch.tensor([[0.0, math.log(2), math.log(3)], [5.0, 5.0, 5.0]])  # P = 1/6, 2/6, 3/6 and thirds
        loss = softmax(scores, batch_of([[1, 2], [0]]))
        assert loss.item() == pytest.approx((math.log(3) + math.log(2) + math.log(3)) / 3)

    @given(st.integers(0, 10_000))
    @settings(max_examples=25, deadline=None)
    def test_grouping_by_query_is_the_mean_over_facts_in_value_and_gradient(self, seed: int) -> None:
        scores, answers = random_case(seed)
        ours, reference = (scores.clone().requires_grad_() for _ in range(2))
        loss = softmax(ours, batch_of(answers))
        expected = per_fact_cross_entropy(reference, answers)
        (2.5 * loss).backward()  # a factor, for the gradient must pass on what comes from above
        (2.5 * expected).backward()
        torch.testing.assert_close(loss, expected)
        torch.testing.assert_close(ours.grad, reference.grad)

    def test_its_gradient_is_that_of_finite_differences(self) -> None:
        scores, answers = random_case(1)
        batch = batch_of(answers)
        moving = scores.clone().requires_grad_()
        softmax(moving, batch).backward()
        assert moving.grad is not None
        step = 1e-5
        for cell in [(0, 0), (2, 3), (4, 6)]:
            nudge = torch.zeros_like(scores)
            nudge[cell] = step
            slope = (softmax(scores + nudge, batch) - softmax(scores - nudge, batch)) / (2 * step)
            assert moving.grad[cell].item() == pytest.approx(slope.item(), abs=1e-7)

    def test_huge_scores_do_not_overflow(self) -> None:
        scores = torch.tensor([[1e4, 0.0, -1e4]], requires_grad=True)
        loss = softmax(scores, batch_of([[1]]))
        loss.backward()
        assert loss.item() == 1e4
        assert scores.grad is not None
        assert scores.grad.tolist() == [[1.0, -1.0, 0.0]]

    def test_a_second_backward_is_refused_rather_than_wrong(self) -> None:
        scores = torch.zeros(1, 3, requires_grad=True)
        loss = softmax(scores, batch_of([[1]]))
        loss.backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="inplace operation"):
            loss.backward()

    def test_the_scores_themselves_stay_as_they_were(self) -> None:
        scores, answers = random_case(2)
        before = scores.clone()
        moving = scores.requires_grad_()
        softmax(moving, batch_of(answers)).backward()
        assert torch.equal(scores, before)


@pytest.mark.parametrize("loss", KINDS, ids=list(LOSSES))
class TestSampled:
    def test_with_every_entity_drawn_the_loss_is_the_full_one(self, loss: Loss) -> None:
        scores, answers = random_case(3)
        everybody = list(range(scores.shape[1]))
        full = loss(scores, batch_of(answers))
        assert torch.equal(loss(scores, batch_of(answers, among=everybody)), full)

    def test_with_some_the_loss_is_that_of_their_columns(self, loss: Loss) -> None:
        scores, _ = random_case(4)
        answers, among = [[1], [1, 5], [4], [5], [1]], [1, 2, 4, 5]
        renamed = [[among.index(answer) for answer in row] for row in answers]
        sampled = loss(scores[:, among], batch_of(answers, among=among))
        assert torch.equal(sampled, loss(scores[:, among], batch_of(renamed)))


class TestBce:
    def test_a_golden_case(self) -> None:
        # σ(0) = 1/2 in every cell: six cells of log 2, over three facts.
        loss = bce(torch.zeros(2, 3), batch_of([[1, 2], [0]]))
        assert loss.item() == pytest.approx(2 * math.log(2))

    @pytest.mark.parametrize("smoothing", [0.0, 0.1])
    def test_it_is_pytorchs_on_the_matrix_of_labels_in_value_and_gradient(self, smoothing: float) -> None:
        scores, answers = random_case(5)
        ours, reference = (scores.clone().requires_grad_() for _ in range(2))
        labels = torch.zeros_like(scores)
        for row, found in enumerate(answers):
            labels[row, found] = 1
        labels = (1 - smoothing) * labels + smoothing / scores.shape[1]
        expected = torch.nn.functional.binary_cross_entropy(reference.sigmoid(), labels, reduction="sum")
        expected = expected / sum(map(len, answers))
        loss = BceLoss(label_smoothing=smoothing)(ours, batch_of(answers))
        torch.testing.assert_close(loss, expected)
        (3 * loss).backward()
        (3 * expected).backward()
        torch.testing.assert_close(ours.grad, reference.grad)


class TestSelfAdversarial:
    @staticmethod
    def literal(
        scores: torch.Tensor,
        answers: list[list[int]],
        margin: float,
        temperature: float,
        weights: list[float] | None = None,
    ) -> float:
        """Equations 5 and 6 of Sun et al. 2019 with their code's mean of both halves, one number at a time."""
        each = weights or [1.0] * sum(map(len, answers))
        total, left = 0.0, iter(each)
        for row, found in enumerate(answers):
            strangers = [e for e in range(scores.shape[1]) if e not in found]
            powers = [math.exp(temperature * scores[row, e].item()) for e in strangers]
            negative = 0.0
            for entity, power in zip(strangers, powers, strict=True):
                negative -= power / sum(powers) * math.log(1 / (1 + math.exp(margin + scores[row, entity].item())))
            for answer in found:
                positive = -math.log(1 / (1 + math.exp(-margin - scores[row, answer].item())))
                total += next(left) * (positive + negative) / 2
        return total / sum(each)

    @pytest.mark.parametrize(("margin", "temperature"), [(9.0, 1.0), (0.0, 0.5), (6.0, 0.0), (2.0, 3.0)])
    def test_it_is_the_literal_loop(self, margin: float, temperature: float) -> None:
        scores, answers = random_case(6)
        loss = SelfAdversarialLoss(margin=margin, temperature=temperature)(scores, batch_of(answers))
        assert loss.item() == pytest.approx(self.literal(scores, answers, margin, temperature))

    def test_facts_count_by_their_weights(self) -> None:
        scores, answers = random_case(6)
        batch = batch_of(answers)
        weights = np.linspace(0.5, 2.0, len(batch.answers.values))
        loss = self_adversarial(scores, replace(batch, weights=weights))
        assert loss.item() == pytest.approx(
            self.literal(scores, answers, self_adversarial.margin, 1.0, weights.tolist())
        )

    def test_no_gradient_flows_through_the_weights_of_negatives(self) -> None:
        scores = torch.tensor([[0.0, 1.0, 3.0]], requires_grad=True)
        SelfAdversarialLoss(margin=0.0)(scores, batch_of([[0]])).backward()  # type: ignore[no-untyped-call]
        assert scores.grad is not None
        # ½ p(e) σ(s(e)): the derivative with p held still.
        weight = torch.tensor([1.0, 3.0]).softmax(0)
        torch.testing.assert_close(scores.grad[0, 1:], weight * torch.tensor([1.0, 3.0]).sigmoid() / 2)

    def test_a_query_that_every_candidate_answers_has_no_negatives(self) -> None:
        scores = torch.tensor([[0.5, -0.5], [0.0, 1.0]], requires_grad=True)
        loss = self_adversarial(scores, batch_of([[0, 1], [0]]))
        loss.backward()
        assert scores.grad is not None
        assert torch.isfinite(loss)
        assert torch.isfinite(scores.grad).all()


class TestInfoNce:
    def test_a_golden_case(self) -> None:
        # Odds of answer : others. Query 0: 2:1 and 3:1, for 2 and 3 do not compete; query 1: 5:(5 + 5).
        scores = torch.tensor([[0.0, math.log(2), math.log(3)], [5.0, 5.0, 5.0]])
        loss = info_nce(scores, batch_of([[1, 2], [0]]))
        assert loss.item() == pytest.approx((math.log(3 / 2) + math.log(4 / 3) + math.log(3)) / 3)

    def test_with_one_answer_a_query_it_is_softmax(self) -> None:
        scores, _ = random_case(3)
        batch = batch_of([[1], [0], [6], [2], [2]])
        torch.testing.assert_close(info_nce(scores, batch), softmax(scores, batch))

    def test_a_query_that_every_candidate_answers_teaches_nothing(self) -> None:
        scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        info_nce(scores, batch_of([[0, 1], [1]])).backward()  # type: ignore[no-untyped-call]
        assert scores.grad is not None
        assert (scores.grad[0] == 0).all()
        assert (scores.grad[1] != 0).all()
