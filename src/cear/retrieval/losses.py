"""Losses of Stage 1.

Each reads one matrix of scores (query, candidate) and the cells that hold the answers, and returns a mean over
facts, so that learning rates and regularisers do not depend on the batch size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from cear.retrieval.batches import Batch
from cear.retrieval.config import LossConfig

Loss = Callable[[Tensor, Batch, LossConfig], Tensor]


def softmax(scores: Tensor, batch: Batch, config: LossConfig) -> Tensor:
    """The mean over facts of -log P(answer | query), P a softmax (Lacroix et al. 2018, Eq. 6), grouped by query."""
    del config
    rows, columns = batch.cells
    loss: Tensor = _SoftmaxCrossEntropy.apply(scores, rows, columns, batch.counts)  # type: ignore[no-untyped-call]
    return loss


def bce(scores: Tensor, batch: Batch, config: LossConfig) -> Tensor:
    """Binary cross-entropy of every cell (Dettmers et al. 2018), with label smoothing, summed and divided by facts."""
    labels = torch.full_like(scores, config.label_smoothing / scores.shape[1])
    labels[batch.cells] += 1 - config.label_smoothing
    cells = nn.functional.binary_cross_entropy_with_logits(scores, labels, reduction="sum")
    return cells / len(batch.facts)


def self_adversarial(scores: Tensor, batch: Batch, config: LossConfig) -> Tensor:
    """-log σ(γ + s(answer)) - Σ p(e) log σ(-γ - s(e)), p = softmax(α s(e)) (Sun et al. 2019, Eq. 5 and 6).

    The negatives e of a query are the candidates of the batch that do not answer it.
    """
    rows, weights = batch.cells[0], batch.fact_weights.to(scores.dtype)
    positive = weights @ nn.functional.logsigmoid(config.margin + scores[batch.cells])
    is_answer = torch.zeros_like(scores, dtype=torch.bool)
    is_answer[batch.cells] = True
    with torch.no_grad():
        weight = (config.temperature * scores).masked_fill(is_answer, -torch.inf).softmax(-1)
        weight = weight.nan_to_num(0.0)  # a query that every candidate answers has no negatives
    negative = (weight * nn.functional.logsigmoid(-config.margin - scores)).sum(-1)
    of_queries = torch.zeros(len(scores), dtype=scores.dtype).index_add_(0, rows, weights)
    return -(positive + of_queries @ negative) / (2 * weights.sum())


def info_nce(scores: Tensor, batch: Batch, config: LossConfig) -> Tensor:
    """The mean over facts of -log P(answer | answer or no answer), P a softmax: other answers are no negatives."""
    del config
    is_answer = torch.zeros_like(scores, dtype=torch.bool)
    is_answer[batch.cells] = True
    # The least number rather than -inf: a query that every candidate answers then has loss and gradient zero.
    others = scores.masked_fill(is_answer, torch.finfo(scores.dtype).min).logsumexp(-1)  # (query,)
    return nn.functional.softplus(others[batch.cells[0]] - scores[batch.cells]).mean()


LOSSES: dict[str, Loss] = {
    "softmax": softmax,
    "bce": bce,
    "self_adversarial": self_adversarial,
    "info_nce": info_nce,
}


class _SoftmaxCrossEntropy(torch.autograd.Function):
    """Cross-entropy whose gradient overwrites one buffer: half the memory traffic of log_softmax and gather."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, rows: Tensor, columns: Tensor, counts: Tensor) -> Tensor:
        answers = scores[rows, columns]
        peak = scores.amax(-1, keepdim=True)
        exponentials = (scores - peak).exp_()  # (query, candidate)
        total = exponentials.sum(-1, keepdim=True)
        log_total = (peak + total.log()).squeeze(-1)
        gradient = exponentials.mul_(counts.unsqueeze(-1) / total)  # Σ over answers of softmax - one-hot
        gradient[rows, columns] -= 1
        ctx.save_for_backward(gradient)
        ctx.facts = len(rows)
        return ((counts * log_total).sum() - answers.sum()) / len(rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(grad / ctx.facts), None, None, None
