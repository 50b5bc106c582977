"""Processes that train together: each takes its parts of every batch, and all take the same step.

`accelerate` finds out who the processes are (torchrun, accelerate launch, SLURM, MPI), picks the way they talk (NCCL
on GPUs, Gloo on CPUs) and adds up their tensors. The loop around it stays ours, because it resumes to the last bit.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from accelerate import PartialState

T = TypeVar("T")


class Workers:
    """A process and those that were started with it; it is alone unless a launcher says otherwise."""

    def __init__(self, *, cpu: bool) -> None:
        self._state: PartialState | None = None
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            from accelerate import PartialState  # only who has company needs it

            self._state = PartialState(cpu=cpu)

    @property
    def count(self) -> int:
        """How many there are."""
        return 1 if self._state is None else int(self._state.num_processes)

    @property
    def is_main(self) -> bool:
        """Whether this is the one that writes files."""
        return self._state is None or bool(self._state.is_main_process)

    def mine(self, parts: Sequence[T]) -> Sequence[T]:
        """The parts of a step that this process computes."""
        return parts if self._state is None else parts[self._state.process_index :: self.count]

    def total(self, value: Tensor) -> Tensor:
        """The sum of a tensor over all processes."""
        if self._state is None:
            return value
        from accelerate.utils import reduce

        summed: Tensor = reduce(value.to(self._state.device), reduction="sum")  # NCCL adds up on GPUs alone
        return summed.to(value.device)

    def add_up_gradients(self, model: nn.Module) -> None:
        """Give every process the gradient of the whole batch, in one message.

        A weight that no process used has none, and a table of which rows were looked up has those of the rows: an
        optimiser lets the others rest.
        """
        if self._state is None:
            return
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        parts = [part for weight in weights for part in (_dense(weight).reshape(-1), _marks(weight))]
        sums = torch.split(self.total(torch.cat(parts)), [part.numel() for part in parts])
        for weight, gradient, marks in zip(weights, sums[::2], sums[1::2], strict=True):
            used, looked_up = marks.tolist()
            whole = gradient.view_as(weight).clone() if used else None
            weight.grad = whole.to_sparse(1) if whole is not None and looked_up else whole

    def wait(self) -> None:
        """Wait until every process is here."""
        if self._state is not None:
            self._state.wait_for_everyone()


def _marks(weight: nn.Parameter) -> Tensor:
    """Whether a weight has a gradient here, and whether it is one of some rows, (2,)."""
    marks = [weight.grad is not None, weight.grad is not None and weight.grad.is_sparse]
    return torch.tensor(marks, dtype=weight.dtype, device=weight.device)


def _dense(weight: nn.Parameter) -> Tensor:
    if weight.grad is None:
        return torch.zeros_like(weight)
    return weight.grad.to_dense() if weight.grad.is_sparse else weight.grad
