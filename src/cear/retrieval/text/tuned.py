"""The bi-encoder whose encoder is trained: one language model reads queries and entities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from cear.data import KnowledgeBase
from cear.errors import ConfigError
from cear.nouns import Queries
from cear.retrieval.text.config import TextConfig
from cear.retrieval.text.scorer import TextScorer
from cear.texts import load_encoder, pooled, positions, special_tokens, texts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class TunedText(TextScorer):
    """The mean token state of `s [SEP] r [SEP]` and of `o`, at unit length; a reciprocal r is written "inverse r"."""

    def __init__(self, kb: KnowledgeBase, config: TextConfig, *, seed: int = 0) -> None:
        super().__init__(kb.n_entities, kb.n_relations)
        self.encoder, self._tokenizer = load_encoder(config.encoder, dropout=config.dropout, seed=seed)
        _refuse_few_positions(positions(self.encoder), config)
        names = kb.relations.table["name"].to_list()
        self._entities = _tokens(texts(kb.entities), self._tokenizer, config.tokens)
        end = special_tokens(self._tokenizer).separator
        lines = [*names, *(f"inverse {name}" for name in names)]
        self._relations = [[*row, end] for row in _tokens(lines, self._tokenizer, config.tokens, bare=True)]

    def encode_queries(self, queries: Queries) -> Tensor:
        """The mean token state of subject and relation."""
        pairs = zip(queries.entity.tolist(), queries.relation.tolist(), strict=True)
        return pooled([self._entities[s] + self._relations[r] for s, r in pairs], self.encoder, self._tokenizer)

    def encode_entities(self, among: Tensor | None = None) -> Tensor:
        """The mean token state of name and description."""
        rows = self._entities if among is None else [self._entities[i] for i in among.tolist()]
        return pooled(rows, self.encoder, self._tokenizer)

    def relation_moduli(self, relations: Tensor) -> Tensor:
        """A relation has no coordinates of its own."""
        return torch.zeros(len(relations), 0)

    def save_pretrained(self, folder: Path) -> None:
        """Write encoder and tokenizer as Hugging Face reads them."""
        self.encoder.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)


def _tokens(lines: list[str], tokenizer: PreTrainedTokenizerBase, limit: int, *, bare: bool = False) -> list[list[int]]:
    """The tokens of each text; `bare` is without special tokens."""
    rows: list[list[int]] = tokenizer(lines, add_special_tokens=not bare, truncation=True, max_length=limit)[
        "input_ids"
    ]
    return rows


def _refuse_few_positions(limit: int, config: TextConfig) -> None:
    if 2 * config.tokens + 1 > limit:
        raise ConfigError(
            f"{config.encoder!r} reads {limit} tokens, and subject and relation may have {config.tokens} each. "
            f"Set text.tokens to at most {(limit - 1) // 2}."
        )
