"""Distances between every query and every entity, without queries x entities x width in memory.

p = 2 is a matrix product, and so is its square, which ranks alike and has a gradient that grows with the distance.
p = 1 is not, so it is a compiled kernel: one fused loop forward, two backward (one per side, so that no two threads
write to the same row and sums do not depend on the number of threads). A coordinate is one real number for TransE and
a (real, imaginary) pair for RotatE, whose p = 1 distance sums moduli; each has its kernels. On any other device than a
CPU the same formula is plain PyTorch, in blocks of queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numba
import numpy as np
import torch
from pydantic import model_validator
from torch import Tensor

from cear.core.blocks import blocks, rows_within
from cear.core.compiling import compiled
from cear.core.devices import runs_kernels
from cear.core.threads import torch_threads
from cear.retrieval.gradient import GradientConfig

_TINIEST = 1e-30  # far below what float32 adds to a square, and enough for the square root's gradient
_TINY = 1e-12  # under the square root: keeps the gradient finite where query and entity coincide


@dataclass(frozen=True)
class Distance:
    """The distance that a scorer subtracts: one formula for pairs, one for every query with every entity."""

    norm: int
    squared: bool
    complex_pairs: bool
    """Whether a coordinate is a (real, imaginary) pair."""

    def of_pairs(self, x: Tensor, y: Tensor) -> Tensor:
        """‖x - y‖ row by row, (row, width) x (row, width) -> (row,)."""
        rest = x - y
        if self.norm == 1:
            return (modulus(rest) if self.complex_pairs else rest.abs()).sum(-1)
        squared = rest.square().sum(-1)
        return squared if self.squared else squared.sqrt()

    def of_all(self, queries: Tensor, entities: Tensor) -> Tensor:
        """‖q - e‖, (query, width) x (entity, width) -> (query, entity)."""
        if self.norm == 1:
            return sum_of_moduli(queries, entities, complex_pairs=self.complex_pairs)
        squared = squared_euclidean(queries, entities)
        return squared if self.squared else squared.clamp_min(_TINY).sqrt()


class DistanceConfig(GradientConfig):
    """A scorer that is minus a distance, and how it is trained."""

    norm: Literal[1, 2] = 2
    """1 sums (moduli of) coordinates, 2 is Euclidean."""
    squared: bool = False
    """With norm 2, minus the squared distance: the same ranking, learned with a gradient that grows with distance."""

    @model_validator(mode="after")
    def _only_norm_2_is_squared(self) -> Self:
        if self.squared and self.norm != 2:
            raise ValueError(f"squared is for norm 2; this is norm {self.norm}")
        return self


def modulus(x: Tensor) -> Tensor:
    """|x| of each complex coordinate, (row, 2 rank) -> (row, rank), with a gradient also at 0."""
    real, imaginary = x.chunk(2, -1)
    return (real.square() + imaginary.square() + _TINIEST).sqrt()


def squared_euclidean(queries: Tensor, entities: Tensor) -> Tensor:
    """‖q - e‖² = |q|² + |e|² - 2 q·e, (query, width) x (entity, width) -> (query, entity)."""
    squared = torch.addmm(entities.square().sum(-1), queries, entities.T, alpha=-2)
    return squared.add_(queries.square().sum(-1, keepdim=True))


def sum_of_moduli(queries: Tensor, entities: Tensor, *, complex_pairs: bool) -> Tensor:
    """Σ |q - e| over coordinates, (query, width) x (entity, width) -> (query, entity)."""
    if not runs_kernels(queries.device):
        return plain_sum_of_moduli(queries, entities, complex_pairs=complex_pairs)
    distances: Tensor = _SumOfModuli.apply(queries, entities, complex_pairs)  # type: ignore[no-untyped-call]
    return distances


def plain_sum_of_moduli(queries: Tensor, entities: Tensor, *, complex_pairs: bool) -> Tensor:
    """The same in plain PyTorch, for any device; a block of queries at a time."""
    rows = rows_within(4 * entities.shape[0] * entities.shape[1])
    parts = []
    for block in blocks(len(queries), rows):
        rest = queries[block].unsqueeze(1) - entities  # (query, entity, width)
        parts.append((modulus(rest) if complex_pairs else rest.abs()).sum(-1))
    return torch.cat(parts)


class _SumOfModuli(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, entities: Tensor, complex_pairs: bool) -> Tensor:
        ctx.save_for_backward(queries, entities)
        ctx.complex_pairs = complex_pairs
        out = torch.empty(len(queries), len(entities))
        _run(_forward_kernel(complex_pairs), queries, entities, out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        queries, entities = ctx.saved_tensors
        kernel = _backward_kernel(ctx.complex_pairs)
        to_queries, to_entities = torch.empty_like(queries), torch.empty_like(entities)
        _run(kernel, queries, entities, grad, to_queries)
        _run(kernel, entities, queries, grad.T, to_entities)
        return to_queries, to_entities, None


def _run(kernel: Any, *inputs_and_output: Tensor) -> None:
    """Run a kernel on as many threads as PyTorch uses."""
    *inputs, output = inputs_and_output
    with torch_threads():
        kernel(*map(_numpy, inputs), output.numpy())


def _numpy(x: Tensor) -> np.ndarray[Any, np.dtype[np.float32]]:
    return x.detach().contiguous().numpy()


def _forward_kernel(complex_pairs: bool) -> Any:
    return _complex_forward if complex_pairs else _real_forward


def _backward_kernel(complex_pairs: bool) -> Any:
    return _complex_backward if complex_pairs else _real_backward


@compiled(parallel=True, fastmath=True)
def _complex_forward(x, y, out):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    rank = x.shape[1] // 2
    for i in numba.prange(x.shape[0]):
        for j in range(y.shape[0]):
            total = np.float32(0)
            for d in range(rank):
                real = x[i, d] - y[j, d]
                imaginary = x[i, rank + d] - y[j, rank + d]
                total += np.sqrt(real * real + imaginary * imaginary)
            out[i, j] = total


@compiled(parallel=True, fastmath=True)
def _complex_backward(x, y, grad, to_x):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    rank = x.shape[1] // 2
    tiny = np.float32(_TINY)
    for i in numba.prange(x.shape[0]):
        to_x[i, :] = 0
        for j in range(y.shape[0]):
            g = grad[i, j]
            for d in range(rank):
                real = x[i, d] - y[j, d]
                imaginary = x[i, rank + d] - y[j, rank + d]
                share = g / np.sqrt(real * real + imaginary * imaginary + tiny)
                to_x[i, d] += share * real
                to_x[i, rank + d] += share * imaginary


@compiled(parallel=True, fastmath=True)
def _real_forward(x, y, out):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for i in numba.prange(x.shape[0]):
        for j in range(y.shape[0]):
            total = np.float32(0)
            for d in range(x.shape[1]):
                total += abs(x[i, d] - y[j, d])
            out[i, j] = total


@compiled(parallel=True, fastmath=True)
def _real_backward(x, y, grad, to_x):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for i in numba.prange(x.shape[0]):
        to_x[i, :] = 0
        for j in range(y.shape[0]):
            g = grad[i, j]
            for d in range(x.shape[1]):
                to_x[i, d] += g * np.sign(x[i, d] - y[j, d])
