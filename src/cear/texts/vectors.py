"""One vector for each text, and for each entity and relation of a knowledge base: encoded once, kept in the cache."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from cear.core.blocks import blocks
from cear.core.devices import tensor
from cear.core.errors import CearError
from cear.core.keys import content_key
from cear.core.progress import Progress, silent
from cear.core.seals import if_whole
from cear.core.tensors import read_tensors, write_tensors
from cear.data import KnowledgeBase, cache_root
from cear.texts.batches import pack_by_tokens
from cear.texts.encoders import EMBEDDED, load_encoder
from cear.texts.lines import texts

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

log = logging.getLogger("cear.texts")

_MAX_TOKENS = 4000  # in a batch
_PART = 4096  # texts that are encoded and kept together: what an interruption may cost


@dataclass(frozen=True)
class TextReader:
    """Who reads texts that come later, as those before them were read; nothing of it is kept on disk."""

    encoder: str = EMBEDDED
    tokens: int = 48
    """A text is cut to so many tokens."""
    device: str = "cpu"
    download: bool = False

    def __call__(self, lines: Sequence[str]) -> Tensor:
        """The unit vector of each text, (text, width), on the CPU."""
        model, tokenizer = load_encoder(self.encoder, download=self.download)
        return encode(lines, model, tokenizer, tokens=self.tokens, device=self.device).float().cpu().clone()


def text_vectors(
    kb: KnowledgeBase,
    encoder: str,
    *,
    tokens: int,
    device: str = "cpu",
    download: bool = False,
    progress: Progress = silent,
    own: Path | None = None,
) -> tuple[Tensor, Tensor]:
    """The unit vectors of all entities (name and description) and of all relations (name), on the CPU.

    Each text is cut to so many `tokens`; the encoder reads it on `device`. What was encoded before an interruption is
    not encoded again, and an encoder that has nothing to read is not loaded. `own` is a folder that is looked into
    before the user's cache, and gets a copy of what is not there: a run that moves takes it along.
    """
    loaded = cache(partial(load_encoder, encoder, download=download))

    def make(lines: Sequence[str]) -> Tensor:
        return encode(lines, *loaded(), tokens=tokens, device=device, progress=progress)

    lines = [*texts(kb.entities), *kb.relations.table["name"].to_list()]
    parts = [lines[part] for part in blocks(len(lines), _PART)]
    shared, state = cache_root() / "text_vectors", _state_of(encoder)

    def vectors_of(part: list[str]) -> Tensor:
        kept = partial(_kept, _place(shared, [encoder, *state, str(tokens), *part]), partial(make, part))
        return kept() if own is None else _kept(_place(own, [encoder, str(tokens), *part]), kept)

    vectors = torch.cat([vectors_of(part) for part in parts])
    return vectors[: kb.n_entities], vectors[kb.n_entities :]


def _place(folder: Path, key: Sequence[str]) -> Path:
    """The file of the vectors of this key."""
    parts = "\0".join(key)
    if parts.count("\0") >= len(key):  # a text with such a character could pass for two
        parts = content_key(*key)
    return folder / f"{hashlib.sha256(parts.encode()).hexdigest()[:32]}.safetensors"


def _kept(path: Path, make: Callable[[], Tensor]) -> Tensor:
    """The vectors that a file keeps; made now where there is none, and kept if the disk allows."""
    if (kept := if_whole(path, _read_vectors)) is not None:
        return kept
    made = make().float().cpu()
    try:
        write_tensors(path, {"vectors": made})
    except (CearError, OSError) as error:  # no place to keep them costs time, not the result
        log.info("Text vectors were not kept: %s", error)
    return made


def _read_vectors(path: Path) -> Tensor:
    return read_tensors(path)[0]["vectors"]


@torch.inference_mode()
def encode(
    lines: Sequence[str],
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    tokens: int,
    device: str = "cpu",
    progress: Progress = silent,
) -> Tensor:
    """The mean token state of each text, at unit length, (text, width), by an encoder that is moved to `device`."""
    model.to(device).eval()
    rows = tokenizer(list(lines), truncation=True, max_length=tokens)["input_ids"]
    return pooled(rows, model, tokenizer, device=device, progress=progress)


def pooled(
    rows: Sequence[Sequence[int]],
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    device: torch.device | str = "cpu",
    progress: Progress = silent,
) -> Tensor:
    """The mean state of the tokens of each row, at unit length, (row, width), with gradients where they are on.

    `device` is where the encoder is.
    """
    batches = pack_by_tokens(np.array([len(row) for row in rows]), _MAX_TOKENS)
    means = []
    with progress("Encoding texts", len(rows)) as bar:
        for batch in batches:
            means.append(_mean_states([rows[i] for i in batch], model, tokenizer, device))
            bar.advance(len(batch))
    place = tensor(np.argsort(np.concatenate(batches)), device)
    return torch.nn.functional.normalize(torch.cat(means)[place], dim=-1)


def _mean_states(
    rows: Sequence[Sequence[int]],
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    device: torch.device | str,
) -> Tensor:
    padded = tokenizer.pad({"input_ids": list(rows)}, return_tensors="pt").to(device)
    states = model(**padded).last_hidden_state
    mask = padded["attention_mask"].unsqueeze(-1)
    mean: Tensor = (states * mask).sum(1) / mask.sum(1).clamp_min(1)  # a text of no token at all has no vector, not NaN
    return mean


def _state_of(encoder: str) -> list[str]:
    """What changes when the weights in an encoder's folder do; nothing for one that is not a folder."""
    files = sorted(Path(encoder).glob("*.safetensors"))  # large ones are in several
    return [f"{path.stat().st_size} {path.stat().st_mtime_ns}" for path in files]
