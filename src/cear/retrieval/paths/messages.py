"""Messages along the edges of a step, with gradients: by compiled loops on the CPU, by PyTorch elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from cear.core.devices import runs_kernels, tensor
from cear.retrieval.paths.graph import Reach
from cear.retrieval.paths.kernels import pass_back, pass_on


def messages(state: Tensor, relations: Tensor, reach: Reach, step: int) -> Tensor:
    """Σ state[x] · relations[w] over the edges (x, w, u) of a step, for each entity u within its reach, (node, width).

    `state` is (node, width), of the entities within one step less; `relations` is (2R, width).
    """
    if runs_kernels(state.device):
        found: Tensor = _Messages.apply(state.float(), relations.float(), reach, step)  # type: ignore[no-untyped-call]
        return found
    return plain_messages(state, relations, reach, step)


def plain_messages(state: Tensor, relations: Tensor, reach: Reach, step: int) -> Tensor:
    """The same in PyTorch, on any device."""
    source, by, target = (tensor(each, state.device) for each in reach.edges(step))
    passed = state.new_zeros(int(reach.ends[step]), state.shape[1])
    return passed.index_add(0, target, state[source] * relations[by])


class _Messages(torch.autograd.Function):
    """The compiled loops, as PyTorch knows them."""

    @staticmethod
    def forward(context: Any, state: Tensor, relations: Tensor, reach: Reach, step: int) -> Tensor:
        context.save_for_backward(state, relations)
        context.reach = reach
        passed = np.zeros((int(reach.ends[step]), state.shape[1]), np.float32)
        pass_on(*_arrays(state, relations), *_edges(reach), passed)
        return torch.from_numpy(passed)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        state, relations = context.saved_tensors
        owed = torch.zeros_like(state), torch.zeros_like(relations)
        given = gradients[0].contiguous().numpy()
        pass_back(*_arrays(state, relations), *_edges(context.reach), given, *(each.numpy() for each in owed))
        return (*owed, None, None)


def _arrays(*tensors: Tensor) -> list[Any]:
    return [each.detach().contiguous().numpy() for each in tensors]


def _edges(reach: Reach) -> tuple[Any, ...]:
    graph = reach.graph
    return reach.nodes, reach.place, graph.sources.offsets, graph.sources.values, graph.by
