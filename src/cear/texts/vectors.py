"""One vector for each text, and for each entity and relation of a knowledge base: encoded once, kept in the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from cear.data import KnowledgeBase, cache_root
from cear.progress import Progress, silent
from cear.tensors import read_tensors, write_tensors
from cear.texts.batches import fill
from cear.texts.encoders import load_encoder
from cear.texts.lines import texts

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_MAX_TOKENS = 4000  # in a batch


def text_vectors(
    kb: KnowledgeBase, encoder: str, *, tokens: int, download: bool = False, progress: Progress = silent
) -> tuple[Tensor, Tensor]:
    """The unit vectors of all entities (name and description) and of all relations (name).

    Each text is cut to so many `tokens`.
    """
    lines = [*texts(kb.entities), *kb.relations.table["name"].to_list()]
    key = hashlib.sha256("\0".join([encoder, str(tokens), *lines]).encode()).hexdigest()
    path = cache_root() / "text_vectors" / f"{key[:32]}.safetensors"
    if not path.exists():
        model, tokenizer = load_encoder(encoder, download=download)
        write_tensors(path, {"vectors": encode(lines, model, tokenizer, tokens=tokens, progress=progress)})
    vectors = read_tensors(path)[0]["vectors"]
    return vectors[: kb.n_entities], vectors[kb.n_entities :]


@torch.inference_mode()
def encode(
    lines: Sequence[str],
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    tokens: int,
    progress: Progress = silent,
) -> Tensor:
    """The mean token state of each text, at unit length, (text, width)."""
    model.eval()
    rows = tokenizer(list(lines), truncation=True, max_length=tokens)["input_ids"]
    vectors = torch.empty(len(rows), model.config.hidden_size)
    with progress("Encoding texts", len(rows)) as bar:
        for batch in fill(np.array([len(row) for row in rows]), _MAX_TOKENS):
            vectors[torch.from_numpy(batch)] = pooled([rows[i] for i in batch], model, tokenizer)
            bar.advance(len(batch))
    return vectors


def pooled(rows: Sequence[Sequence[int]], model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Tensor:
    """The mean state of the tokens of each row, at unit length, (row, width), with gradients when the model trains."""
    padded = tokenizer.pad({"input_ids": list(rows)}, return_tensors="pt")
    states = model(**padded).last_hidden_state
    mask = padded["attention_mask"].unsqueeze(-1)
    return torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)
