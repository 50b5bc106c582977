"""Vectors of texts by an encoder that learns, for more texts than a step of training can read."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from cear.core.devices import tensor
from cear.core.errors import ConfigError
from cear.core.progress import Progress, silent
from cear.texts.encoders import load_encoder, positions
from cear.texts.vectors import TextReader, pooled

if TYPE_CHECKING:
    from transformers import PreTrainedModel


_EMBEDDED = TextReader()


class KeptVectors(nn.Module):
    """Vectors of texts that stay as they are, (text, width)."""

    _vectors: Tensor

    def __init__(self, vectors: Tensor, reader: TextReader = _EMBEDDED) -> None:
        """`reader` is who reads texts that come later."""
        super().__init__()
        self.register_buffer("_vectors", vectors, persistent=False)
        self._reader = reader

    def forward(self, which: Tensor) -> Tensor:
        """The vectors of these texts, (…, width)."""
        return self._vectors[tensor(which, self._vectors.device)]

    def extended(self, lines: Sequence[str]) -> KeptVectors:
        """These vectors, and then those of more texts."""
        return KeptVectors(torch.cat([self._vectors, self._reader(lines).to(self._vectors)]), self._reader)


class TunedVectors(nn.Module):
    """Vectors of texts by an encoder that learns.

    A step of training reads a few texts; of all others it has what was read of them last, as they stand in
    `remembered`. That costs a step no more than the few, and a comparison with thousands nearly nothing.
    """

    remembered: Tensor  # (text, width)

    def __init__(
        self,
        lines: Sequence[str],
        start: Tensor,
        encoder: str,
        *,
        tokens: int,
        layers: int | None = None,
        dropout: float = 0.0,
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        """`start` is what is remembered of each text before any is read; `layers` as in `learn_last`."""
        super().__init__()
        self.encoder, self._tokenizer = load_encoder(encoder, dropout=dropout, seed=seed)
        _refuse_few_positions(encoder, positions(self.encoder), tokens)
        learn_last(self.encoder, layers)
        self._cut = tokens
        self._rows = self._tokens_of(lines)
        self.register_buffer("remembered", start.clone())
        self._fresh: tuple[Tensor, Tensor] | None = None  # the place of each text among those that are read, and these
        self.to(device)

    def forward(self, which: Tensor) -> Tensor:
        """The vectors of these texts, (…, width), with gradients where they are being read."""
        which = tensor(which, self.remembered.device)
        vectors = self.remembered[which]
        if self._fresh is None:
            return vectors
        place, read = self._fresh
        return torch.where((place[which] >= 0).unsqueeze(-1), read[place[which].clamp_min(0)], vectors)

    @contextmanager
    def reading(self, which: Tensor) -> Iterator[None]:
        """Read these texts, each once; inside, their vectors have gradients, and afterwards they are remembered."""
        vectors, device = self._read(which), self.remembered.device
        there = tensor(which, device)
        place = torch.full((len(self._rows),), -1, device=device)
        place[there] = torch.arange(len(which), device=device)
        self.remembered[there] = vectors.detach()
        self._fresh = place, vectors
        try:
            yield
        finally:
            self._fresh = None

    @torch.no_grad()
    def refresh_cache(self, *, progress: Progress = silent) -> None:
        """Read every text, as the encoder is now, and remember that."""
        self.eval()
        self.remembered.copy_(self._read(torch.arange(len(self._rows)), progress=progress))

    @torch.no_grad()
    def extended(self, lines: Sequence[str]) -> TunedVectors:
        """A copy that remembers more texts, as the encoder reads them now."""
        grown = copy.deepcopy(self).eval()
        grown._rows = [*self._rows, *self._tokens_of(lines)]
        read = grown._read(torch.arange(len(self._rows), len(grown._rows)))
        grown.remembered = torch.cat([self.remembered, read.to(self.remembered)])
        return grown

    def _tokens_of(self, lines: Sequence[str]) -> list[list[int]]:
        rows: list[list[int]] = self._tokenizer(list(lines), truncation=True, max_length=self._cut)["input_ids"]
        return rows

    def save_pretrained(self, folder: Path) -> None:
        """Write encoder and tokenizer as Hugging Face reads them."""
        self.encoder.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)

    def _read(self, which: Tensor, *, progress: Progress = silent) -> Tensor:
        rows, device = [self._rows[i] for i in which.tolist()], self.remembered.device
        return pooled(rows, self.encoder, self._tokenizer, device=device, progress=progress)


def learn_last(encoder: PreTrainedModel, layers: int | None) -> None:
    """Let only so many of the encoder's last layers learn, which saves most of the way back; None lets it all."""
    if layers is None:
        return
    stacks = [module for module in encoder.modules() if isinstance(module, nn.ModuleList)]
    stack = max(stacks, key=len, default=nn.ModuleList())
    if layers > len(stack):
        raise ConfigError(f"layers: {layers} is more than the {len(stack)} layers of this encoder. Set at most that.")
    encoder.requires_grad_(False)
    for layer in list(stack)[len(stack) - layers :]:
        layer.requires_grad_(True)


def _refuse_few_positions(encoder: str, limit: int, tokens: int) -> None:
    if tokens > limit:
        raise ConfigError(
            f"{encoder!r} reads {limit} tokens, and a text may have {tokens}. Set its tokens to at most {limit}."
        )
