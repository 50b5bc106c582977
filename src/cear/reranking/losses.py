"""Losses over lists: scores and labels (list, candidate). Padded places, and candidates only read, are not judged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from cear.core.types import Bools, Ints

ListLoss = Callable[[Tensor, Tensor, Tensor], Tensor]


def bce(scores: Tensor, positive: Tensor, judged: Tensor) -> Tensor:
    """Binary cross-entropy of each candidate on its own, the mean over all of them: the paper's loss."""
    cells = nn.functional.binary_cross_entropy_with_logits(scores, positive.float(), reduction="none")
    return (cells * judged).sum() / judged.sum()


def softmax(scores: Tensor, positive: Tensor, judged: Tensor) -> Tensor:
    """-log P(answer) by a softmax over the list, the mean over the answers of each list, then over lists.

    Other answers of the list are no competitors.
    """
    others = scores.masked_fill(positive | ~judged, -torch.inf).logsumexp(-1, keepdim=True)
    each = nn.functional.softplus(others - scores)  # -log(e^s / (e^s + Σ e^others))
    return (each * positive / positive.sum(-1, keepdim=True).clamp_min(1)).sum(-1).mean()


LIST_LOSSES: dict[str, ListLoss] = {"bce": bce, "softmax": softmax}


def list_weights(loss: str, judged: Bools) -> Ints:
    """How much each list counts in the mean that a loss is, (list,): by its candidates, or all the same."""
    return judged.sum(axis=1) if loss == "bce" else np.ones(len(judged), np.int64)
