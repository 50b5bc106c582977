"""The optimisers of embeddings: Adagrad, Adam, and an Adam that touches only the rows that a batch looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import torch
from pydantic import PositiveFloat
from torch import Tensor, nn

from cear.core.settings import Settings
from cear.retrieval.embeddings import Rows
from cear.training import fused_on


class OptimizerConfig(Settings):
    """The optimiser of all embeddings."""

    kind: Literal["adagrad", "adam", "lazy_adam"] = "adagrad"
    """Adagrad suits softmax losses, Adam RotatE's own; lazy_adam moves only what a small batch looked up."""
    learning_rate: PositiveFloat = 0.1
    """The step size."""
    decay: Literal["none", "linear"] = "none"
    """linear lets the step size fall to zero over all epochs, which Adam wants and Adagrad does by itself."""


def build_optimizer(model: nn.Module, config: OptimizerConfig) -> torch.optim.Optimizer:
    """The optimiser of all parameters; Adagrad and Adam take one pass over all of them in each step."""
    if config.kind == "lazy_adam":
        for module in model.modules():
            if isinstance(module, Rows):
                module.sparse = True
        return LazyAdam(model.parameters(), lr=config.learning_rate)
    kind = torch.optim.Adagrad if config.kind == "adagrad" else torch.optim.Adam
    return kind(model.parameters(), lr=config.learning_rate, fused=fused_on(model))


class LazyAdam(torch.optim.Optimizer):
    """Adam in which a row without a gradient rests: neither it nor its moments move.

    A small batch looks up a few hundred of many thousand rows, and a pass over all of them would cost more than the
    batch. torch's SparseAdam does the same for sparse gradients alone; here a dense one (a small table) may join.
    """

    def __init__(
        self, parameters: Iterable[Tensor], *, lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One step of every row that has a gradient."""
        del closure
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    _step(parameter, self.state[parameter], group)


def _step(parameter: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
    if not state:
        state |= {
            "step": torch.zeros(()),  # a number that stays on the CPU, as in torch.optim
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }
    state["step"] += 1
    rows, gradient = _rows(parameter.grad)
    (b1, b2), t = group["betas"], float(state["step"])
    mean = state["exp_avg"][rows].lerp(gradient, 1 - b1)
    square = (state["exp_avg_sq"][rows] * b2).addcmul_(gradient, gradient, value=1 - b2)
    state["exp_avg"][rows], state["exp_avg_sq"][rows] = mean, square
    scale = (square / (1 - b2**t)).sqrt_().add_(group["eps"])
    parameter[rows] -= mean / scale * (group["lr"] / (1 - b1**t))


def _rows(gradient: Tensor | None) -> tuple[Tensor | slice, Tensor]:
    """The rows that a gradient touches, each once, and their gradients."""
    assert gradient is not None
    if not gradient.is_sparse:
        return slice(None), gradient
    gradient = gradient.coalesce()
    return gradient.indices()[0], gradient.values()
