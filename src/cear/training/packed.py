"""A training over sequences that share batches by their tokens: what all trainings of language models do alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cear.core.context import Context
from cear.core.devices import computing, device_of
from cear.core.types import Ints
from cear.texts import shuffled_batches
from cear.training.loop import Part, fused_on, seeded, set_rates


class PackedTask(ABC):
    """Batches of like length, by AdamW with rates that fall linearly to zero, for the loop in `cear.training`.

    Every random choice, dropout included, is a function of (seed, epoch, step).
    """

    def __init__(
        self,
        model: nn.Module,
        groups: Sequence[dict[str, Any]],
        lengths: Ints,
        *,
        max_tokens: int,
        epochs: int,
        weight_decay: float,
        context: Context,
        per_epoch: int | None = None,
        weights: Ints | None = None,
    ) -> None:
        """`groups` are weights with their learning rates; `lengths` are the tokens of each example, (example,).

        An epoch takes a sample of `per_epoch` examples, or all. `weights` says how much each counts in a mean.
        """
        self.model = model
        self._lengths, self._max_tokens = lengths, max_tokens
        self._weights = np.ones(len(lengths), np.int64) if weights is None else weights
        self._epochs, self._per_epoch, self._context = epochs, per_epoch or len(lengths), context
        self._batches = lru_cache(maxsize=2)(self._shuffled)
        self._rates = [group["lr"] for group in groups]
        self.optimizer = torch.optim.AdamW([*groups], weight_decay=weight_decay, fused=fused_on(model))

    @abstractmethod
    def loss_of(self, rows: Ints) -> Tensor:
        """The loss of these examples, a mean over them."""

    @abstractmethod
    def validate(self) -> float:
        """How good the model is now; higher is better."""

    def __len__(self) -> int:
        """Batches in an epoch; each epoch shuffles anew, so later ones may differ by a few."""
        return len(self._batches(0))

    def steps(self, epoch: int, *, first: int, parts: int) -> Iterator[Sequence[Part]]:
        """The loss of each batch of an epoch, as the shares of its parts."""
        self.model.train()
        batches = self._batches(epoch)
        for step in range(first, len(batches)):
            set_rates(self.optimizer, self._rates, 1 - (epoch + step / len(batches)) / self._epochs)
            whole, total = batches[step], self._weights[batches[step]].sum()
            shares = [
                (rows, self._weights[rows].sum() / total) for rows in np.array_split(whole, min(parts, len(whole)))
            ]
            yield [partial(self._share, rows, float(share), epoch, step) for rows, share in shares]

    def _share(self, rows: Ints, share: float, epoch: int, step: int) -> Tensor:
        """What some examples of a batch add to its loss."""
        device = device_of(self.model)
        with seeded(self._context.seed, epoch, step), computing(device, self._context.precision):
            return share * self.loss_of(rows)

    def _shuffled(self, epoch: int) -> list[Ints]:
        """The batches of an epoch, over a sample of the examples where the configuration limits them."""
        total = len(self._lengths)
        rng = np.random.default_rng([self._context.seed, epoch])
        chosen = np.sort(rng.choice(total, min(self._per_epoch, total), replace=False))
        return [chosen[batch] for batch in shuffled_batches(self._lengths[chosen], self._max_tokens, rng)]
