"""One text vector for each entity and relation, encoded once and kept in the user's cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from cear.data import KnowledgeBase, cache_root
from cear.progress import Progress, silent
from cear.reranking.batches import fill
from cear.reranking.config import SequenceConfig, WideConfig
from cear.reranking.encoders import load_encoder
from cear.reranking.surface import texts
from cear.tensors import read_tensors, write_tensors

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_MAX_TOKENS = 4000  # in a batch


def text_vectors(
    kb: KnowledgeBase, config: WideConfig, *, download: bool = False, progress: Progress = silent
) -> tuple[Tensor, Tensor]:
    """The unit vectors of all entities (name and description) and of all relations (name)."""
    lines = [*texts(kb.entities), *kb.relations.table["name"].to_list()]
    key = hashlib.sha256("\0".join([config.encoder, str(config.text_tokens), *lines]).encode()).hexdigest()
    path = cache_root() / "text_vectors" / f"{key[:32]}.safetensors"
    if not path.exists():
        model, tokenizer = load_encoder(SequenceConfig(encoder=config.encoder), download=download)
        vectors = encode(lines, model, tokenizer, tokens=config.text_tokens, progress=progress)
        write_tensors(path, {"vectors": vectors})
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
            padded = tokenizer.pad({"input_ids": [rows[i] for i in batch]}, return_tensors="pt")
            states = model(**padded).last_hidden_state
            mask = padded["attention_mask"].unsqueeze(-1)
            mean = (states * mask).sum(1) / mask.sum(1)
            vectors[torch.from_numpy(batch)] = torch.nn.functional.normalize(mean, dim=-1)
            bar.advance(len(batch))
    return vectors
