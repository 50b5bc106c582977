"""Neighbours that two entities share: by a compiled kernel on the CPU, by PyTorch on every other device."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cear.core.blocks import blocks_of
from cear.core.compiling import compiled
from cear.core.devices import array, tensor
from cear.core.spans import spans
from cear.core.threads import torch_threads
from cear.core.types import Ints, Ragged

Reals = npt.NDArray[np.float32]

_AT_ONCE = 2**22  # neighbours that PyTorch looks up together: about 200 MB


def count_shared(near: Ragged, subjects: Ints, entities: Ints) -> Reals:
    """Shared neighbours, the same weighed by rarity, and whether the two are linked, (3, query, candidate).

    `near` has the neighbours of each entity. One that many share says little, so z weighs 1 / log(1 + degree of z),
    as in Adamic and Adar (2003).
    """
    out = np.zeros((3, *entities.shape), np.float32)
    with torch_threads():
        _count_shared(near.offsets, near.values, subjects, entities, out)
    return out


class SharedOnDevice:
    """`count_shared` in PyTorch: a neighbour of a candidate is shared if (subject, neighbour) is a pair of the graph.

    Memory grows with the neighbours of the candidates, which are looked up some at a time.
    """

    def __init__(self, near: Ragged, device: torch.device | str) -> None:
        n, counts = len(near), near.counts
        self._n_entities, self._counts = n, counts
        self._offsets, self._values = tensor(near.offsets, device), tensor(near.values, device)
        self._pairs = tensor(np.append(near.rows * n + near.values, n * n), device)  # ends with a pair that nobody is
        self._weights = tensor((1 / np.log1p(np.maximum(counts, 1))).astype(np.float32), device)

    def __call__(self, subjects: Ints, entities: Ints) -> Reals:
        """Shared neighbours, the same weighed by rarity, and whether the two are linked, (3, query, candidate)."""
        subject, candidate = np.repeat(subjects, entities.shape[1]), entities.reshape(-1)
        found = np.zeros((3, len(candidate)), np.float32)
        for block in blocks_of(self._counts[candidate], _AT_ONCE):
            found[:, block] = array(self._count(subject[block], candidate[block]))
        return found.reshape(3, *entities.shape)

    def _count(self, subjects: Ints, candidates: Ints) -> Tensor:
        """The three values of each pair of a subject and a candidate, (3, pair)."""
        device, total = self._pairs.device, int(self._counts[candidates].sum())
        counts = tensor(self._counts[candidates], device)
        s, c = tensor(subjects, device), tensor(candidates, device)
        pair, place = spans(self._offsets[c], counts, total)  # (neighbour,): the pair whose candidate has it
        z = self._values[place]
        shared = self._linked(s[pair], z).float()
        found = torch.zeros(3, len(candidates), device=device)
        found[0].index_add_(0, pair, shared)
        found[1].index_add_(0, pair, shared * self._weights[z])
        found[2] = self._linked(s, c)
        return found

    def _linked(self, s: Tensor, o: Tensor) -> Tensor:
        key = s * self._n_entities + o
        return self._pairs[torch.searchsorted(self._pairs, key)] == key


@compiled(parallel=True)
def _count_shared(offsets: Any, neighbours: Any, subjects: Any, entities: Any, out: Any) -> None:  # pragma: no cover
    n = len(offsets) - 1
    for i in numba.prange(len(subjects)):
        near = np.zeros(n, np.bool_)
        s = subjects[i]
        for place in range(offsets[s], offsets[s + 1]):
            near[neighbours[place]] = True
        for j in range(entities.shape[1]):
            c = entities[i, j]
            out[2, i, j] = near[c]
            for place in range(offsets[c], offsets[c + 1]):
                z = neighbours[place]
                if near[z]:
                    out[0, i, j] += 1
                    out[1, i, j] += 1 / np.log(1.0 + offsets[z + 1] - offsets[z])
