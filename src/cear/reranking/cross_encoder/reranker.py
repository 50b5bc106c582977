"""A published cross-encoder behind the contract of Stage 2."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Self

import numpy as np
from torch import Tensor

from cear.core.context import Context
from cear.core.devices import device_of
from cear.core.errors import ConfigError
from cear.core.types import Ints, Queries, Ragged
from cear.data import KnowledgeBase
from cear.reranking.cross_encoder.config import CrossEncoderSettings
from cear.reranking.one_by_one import OneByOne
from cear.texts import PairForm, TokenBatch, load_cross_encoder, positions, surround, texts, tokens_of

ENCODER = "encoder"
_NOTHING = np.zeros(0, np.int64)


class CrossEncoderReranker(OneByOne):
    """Reads a question and a candidate as a pair of texts, as its tokenizer writes pairs."""

    def __init__(self, kb: KnowledgeBase, config: CrossEncoderSettings, context: Context) -> None:
        self._text, self._width = config.text, config.form_tokens
        self._classifier, self._tokenizer = load_cross_encoder(
            config.encoder, dropout=config.dropout, download=context.download
        )
        self._form = PairForm.of(self._tokenizer)
        _refuse_few_positions(config, positions(self._classifier.base_model), self._form.tokens)
        self._has_segments = getattr(self._classifier.config, "type_vocab_size", 0) > 1
        super().__init__(config, self._classifier, context)
        self._read_names(kb)

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> Self:
        """The same, which reads the texts of new entities too."""
        del first_new, context
        grown = copy.copy(self)
        grown._read_names(kb)
        return grown

    def _read_names(self, kb: KnowledgeBase) -> None:
        names = kb.entities.table["name"].to_list() if self._text == "name" else texts(kb.entities)
        self._kb = kb
        self._candidates = surround(tokens_of(names, self._tokenizer, self._width), _NOTHING, self._form.behind)

    def pair_lengths(self, queries: Queries, entities: Ints) -> Ints:
        """The tokens of each pair, (pair,)."""
        once, place = queries.distinct()
        return self._questions(once).counts[place] + self._candidates.counts[entities]

    def pair_logits(self, queries: Queries, entities: Ints) -> Tensor:
        """The logit of each pair, (pair,)."""
        once, place = queries.distinct()
        pieces = Ragged.concat([self._questions(once), self._candidates.take(entities)])
        rows = np.stack([place, len(once) + np.arange(len(entities))], axis=1)
        device, pad = device_of(self.model), int(self._tokenizer.pad_token_id or 0)
        batch = TokenBatch.of(pieces.take(rows.reshape(-1)), self._form.segments, pad=pad, device=device)
        segments = {"token_type_ids": batch.segments} if self._has_segments else {}
        logits: Tensor = self._classifier(input_ids=batch.tokens, attention_mask=batch.mask, **segments).logits
        return logits.squeeze(-1)

    def save_model(self, folder: Path) -> None:
        """Write model and tokenizer as sentence-transformers reads them."""
        self._classifier.save_pretrained(folder / ENCODER)
        self._tokenizer.save_pretrained(folder / ENCODER)

    def _questions(self, queries: Queries) -> Ragged:
        asked = [
            question(self._kb, int(e), int(r), self._text)
            for e, r in zip(queries.entity, queries.relation, strict=True)
        ]
        return surround(tokens_of(asked, self._tokenizer, self._width), self._form.before, self._form.between)


def question(kb: KnowledgeBase, entity: int, relation: int, text: str) -> str:
    """A query as a text, `name | relation | ?` or `? | relation | name`; then the entity's description, if it has one.

    The description stands last, so that a long one costs neither the relation nor the side that is asked for.
    """
    name, asked = kb.entities.name(entity), kb.relations.name(relation % kb.n_relations)
    words = f"{name} | {asked} | ?" if relation < kb.n_relations else f"? | {asked} | {name}"
    more = kb.entities.description(entity) if text == "description" else None
    return f"{words} ({more})" if more else words


def _refuse_few_positions(config: CrossEncoderSettings, limit: int, special: int) -> None:
    if 2 * config.form_tokens + special > limit:
        raise ConfigError(
            f"{config.encoder!r} reads {limit} tokens, and two texts of form_tokens: {config.form_tokens} may have "
            f"{2 * config.form_tokens + special}. Set form_tokens to at most {(limit - special) // 2}."
        )
