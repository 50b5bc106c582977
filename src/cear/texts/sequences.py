"""Sequences put together from pieces that were tokenised once, and read in batches of like length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cear.core.context import Precision
from cear.core.devices import array, computing, tensor
from cear.core.progress import Progress, silent
from cear.core.types import Floats, Ints, Ragged
from cear.texts.batches import pack_by_tokens

_READ_TOKENS = 1000  # in a batch without gradients: what stays in the processor's cache is read faster


@dataclass(frozen=True, slots=True, eq=False)
class TokenBatch:
    """Sequences side by side, padded to the longest: what an encoder reads."""

    tokens: Tensor  # (sequence, position)
    mask: Tensor  # (sequence, position), 0 where padded
    segments: Tensor  # (sequence, position), which segment a token belongs to

    @classmethod
    def of(cls, pieces: Ragged, segments: Sequence[int], *, pad: int, device: torch.device | str) -> TokenBatch:
        """The sequences of these pieces, one of each segment in turn, on a device.

        >>> batch = TokenBatch.of(Ragged.of([[5], [6, 7], [8], [9]]), (0, 1), pad=0, device="cpu")
        >>> batch.tokens.tolist(), batch.segments.tolist()
        ([[5, 6, 7], [8, 9, 0]], [[0, 1, 1], [0, 1, 0]])
        """
        lengths = pieces.counts.reshape(-1, len(segments)).sum(axis=1)
        filled = np.arange(lengths.max(initial=0)) < lengths[:, None]
        tokens, segment = np.full(filled.shape, pad), np.zeros(filled.shape, np.int64)
        tokens[filled] = pieces.values
        segment[filled] = np.repeat(np.tile(segments, len(lengths)), pieces.counts)
        return cls(*(tensor(each, device) for each in (tokens, filled.astype(np.int64), segment)))


@torch.inference_mode()
def read_in_batches(
    lengths: Ints,
    read: Callable[[Ints], Tensor],
    *,
    device: torch.device,
    precision: Precision,
    progress: Progress = silent,
) -> Floats:
    """What `read` says of each sequence, (sequence, …), asked for in batches of sequences of like length."""
    batches, found = pack_by_tokens(lengths, _READ_TOKENS), []
    with progress("Reading", len(lengths)) as bar, computing(device, precision):
        for rows in batches:
            found.append(array(read(rows)))
            bar.advance(len(rows))
    if not batches:
        return np.zeros(0, np.float32)
    values: Floats = np.concatenate(found)[np.argsort(np.concatenate(batches))]
    return values
