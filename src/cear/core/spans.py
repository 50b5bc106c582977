"""Ranges of a flat array, looked up together in PyTorch, on whatever device the array is."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from cear.core.blocks import blocks_of
from cear.core.devices import array


def spans(first: Tensor, counts: Tensor, total: int | None = None) -> tuple[Tensor, Tensor]:
    """The range of each place and the place itself, of ranges that begin at `first` and have `counts` places.

    `total` is the sum of the counts, where the caller knows it: a GPU is not waited for, and `meta` can follow.

    >>> spans(torch.tensor([5, 0, 8]), torch.tensor([2, 0, 1]))
    (tensor([0, 0, 2]), tensor([5, 6, 8]))
    """
    owner = torch.repeat_interleave(counts, output_size=total)
    shift = first - (counts.cumsum(0) - counts)  # (range,), from the place in the result to the place in the array
    return owner, torch.arange(len(owner), device=first.device) + shift[owner]


def spans_within(first: Tensor, counts: Tensor, most: int) -> Iterator[tuple[Tensor, Tensor]]:
    """The same in parts of at most `most` places; a range with more of them is a part of its own."""
    sizes = array(counts)
    for part in blocks_of(sizes, most):
        owner, place = spans(first[part], counts[part], int(sizes[part].sum()))
        yield owner + part.start, place
