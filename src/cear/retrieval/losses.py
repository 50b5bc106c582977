"""Losses of Stage 1: settings that can be called.

Each reads one matrix of scores (query, candidate) and the cells that hold the answers, and returns a mean over
facts, so that learning rates and regularisers do not depend on the batch size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn

from cear.core.registry import union_of
from cear.core.settings import Settings
from cear.retrieval.batches import Batch


class Loss(Settings, ABC):
    """What a training step minimises."""

    negatives: PositiveInt | None = None
    """Entities drawn per batch to compete, shared by its queries, besides their answers; null scores every entity."""

    @property
    def weighs_facts(self) -> bool:
        """Whether a fact counts less the more answers its questions have, as in RotatE's own code."""
        return False

    @abstractmethod
    def __call__(self, scores: Tensor, batch: Batch) -> Tensor:
        """The loss of a batch, a mean over its facts; `scores` is (query, candidate)."""


class SoftmaxLoss(Loss):
    """Cross-entropy over the candidates, the others' answers too."""

    kind: Literal["softmax"] = "softmax"
    """Which loss."""

    def __call__(self, scores: Tensor, batch: Batch) -> Tensor:
        """The mean over facts of -log P(answer | query), P a softmax (Lacroix et al. 2018, Eq. 6), grouped by query."""
        rows, columns = batch.cells(scores.device)
        counts = batch.counts(scores.device)
        loss: Tensor = _SoftmaxCrossEntropy.apply(scores, rows, columns, counts)  # type: ignore[no-untyped-call]
        return loss


class BceLoss(Loss):
    """Every cell on its own."""

    kind: Literal["bce"] = "bce"
    """Which loss."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    """Share of a label that is spread over all entities."""

    def __call__(self, scores: Tensor, batch: Batch) -> Tensor:
        """Binary cross-entropy of every cell (Dettmers et al. 2018), summed and divided by facts."""
        cells = batch.cells(scores.device)
        loss: Tensor = _BinaryCrossEntropy.apply(scores, *cells, self.label_smoothing)  # type: ignore[no-untyped-call]
        return loss / len(batch.facts)


class SelfAdversarialLoss(Loss):
    """RotatE's own: the harder a negative is now, the more it counts."""

    kind: Literal["self_adversarial"] = "self_adversarial"
    """Which loss."""
    margin: float = 9.0
    """γ: how far answers and negatives shall be apart."""
    temperature: float = 1.0
    """α: how much the hardest negatives count."""
    subsampling: bool = False
    """Facts whose questions have many answers count less, as in RotatE's own code."""

    @property
    def weighs_facts(self) -> bool:
        """Whether a fact counts less the more answers its questions have."""
        return self.subsampling

    def __call__(self, scores: Tensor, batch: Batch) -> Tensor:
        """-log σ(γ + s(answer)) - Σ p(e) log σ(-γ - s(e)), p = softmax(α s(e)) (Sun et al. 2019, Eq. 5 and 6).

        The negatives e of a query are the candidates of the batch that do not answer it.
        """
        cells, weights = batch.cells(scores.device), batch.fact_weights(scores.device).to(scores.dtype)
        positive = weights @ nn.functional.logsigmoid(self.margin + scores[cells])
        with torch.no_grad():
            weight = (self.temperature * scores).masked_fill(_answers(scores, cells), -torch.inf).softmax(-1)
            weight = weight.nan_to_num(0.0)  # a query that every candidate answers has no negatives
        negative = (weight * nn.functional.logsigmoid(-self.margin - scores)).sum(-1)
        of_queries = scores.new_zeros(len(scores)).index_add_(0, cells[0], weights)
        return -(positive + of_queries @ negative) / (2 * weights.sum())


class InfoNceLoss(Loss):
    """Softmax in which the other answers of a query do not compete."""

    kind: Literal["info_nce"] = "info_nce"
    """Which loss."""

    def __call__(self, scores: Tensor, batch: Batch) -> Tensor:
        """The mean over facts of -log P(answer | answer or no answer), P a softmax: other answers are no negatives."""
        cells = batch.cells(scores.device)
        # The least number rather than -inf: a query that every candidate answers then has loss and gradient zero.
        least = torch.finfo(scores.dtype).min
        others = scores.masked_fill(_answers(scores, cells), least).logsumexp(-1)  # (query,)
        return nn.functional.softplus(others[cells[0]] - scores[cells]).mean()


LOSSES: dict[str, type[Loss]] = {
    "softmax": SoftmaxLoss,
    "bce": BceLoss,
    "self_adversarial": SelfAdversarialLoss,
    "info_nce": InfoNceLoss,
}

if TYPE_CHECKING:
    AnyLoss = Loss
else:
    AnyLoss = union_of(LOSSES, "kind", default="softmax")


def _answers(scores: Tensor, cells: tuple[Tensor, Tensor]) -> Tensor:
    """Which cells hold an answer, (query, candidate)."""
    is_answer = torch.zeros_like(scores, dtype=torch.bool)
    is_answer[cells] = True
    return is_answer


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


class _BinaryCrossEntropy(torch.autograd.Function):
    """Σ log(1 + eˢ) - label s, the labels never written down: of all cells they are the same but for the answers."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, rows: Tensor, columns: Tensor, smoothing: float) -> Tensor:
        everywhere, answer = smoothing / scores.shape[1], 1 - smoothing
        loss = nn.functional.softplus(scores).sum() - everywhere * scores.sum() - answer * scores[rows, columns].sum()
        gradient = scores.sigmoid().sub_(everywhere)
        gradient[rows, columns] -= answer
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(grad), None, None, None
