"""Surface forms: the tokens of every entity and relation, made once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cear.core.blocks import blocks
from cear.core.types import Ints, Ragged
from cear.data import KnowledgeBase
from cear.texts.lines import texts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

AT_A_TIME = 2**16  # texts: all that a tokenizer says of millions of them would take gigabytes


@dataclass(frozen=True, eq=False)
class SurfaceForms:
    """The tokens of each entity and each relation, without special tokens."""

    entities: Ragged
    relations: Ragged


def surface_forms(kb: KnowledgeBase, tokenizer: PreTrainedTokenizerBase, *, width: int, text: str) -> SurfaceForms:
    """The first `width` tokens of every name, or of every name and description."""
    entities = texts(kb.entities) if text == "description" else kb.entities.table["name"].to_list()
    return SurfaceForms(
        tokens_of(entities, tokenizer, width), tokens_of(kb.relations.table["name"].to_list(), tokenizer, width)
    )


def tokens_of(lines: Sequence[str], tokenizer: PreTrainedTokenizerBase, width: int) -> Ragged:
    """The first `width` tokens of each text, without special tokens."""
    if not lines:
        return Ragged.empty(0)
    return Ragged.concat([_tokens(lines[each], tokenizer, width) for each in blocks(len(lines), AT_A_TIME)])


def _tokens(lines: Sequence[str], tokenizer: PreTrainedTokenizerBase, width: int) -> Ragged:
    rows = tokenizer(list(lines), add_special_tokens=False, truncation=True, max_length=width)["input_ids"]
    return Ragged.of([row or [tokenizer.unk_token_id or 0] for row in rows])  # a name of unknown signs is still a name


def cut(rows: Ragged, width: int) -> Ragged:
    """The first `width` tokens of each row."""
    within = np.arange(len(rows.values)) - np.repeat(rows.offsets[:-1], rows.counts)
    offsets = np.concatenate([[0], np.cumsum(np.minimum(rows.counts, width))]).astype(np.int64)
    return Ragged(offsets, rows.values[within < width])


def surround(rows: Ragged, before: Ints, after: Ints) -> Ragged:
    """Each row between two constant pieces."""
    parts = Ragged.concat([_repeat(before, len(rows)), rows, _repeat(after, len(rows))])
    order = np.arange(len(rows))
    woven = parts.take(np.stack([order, len(rows) + order, 2 * len(rows) + order], axis=1).reshape(-1))
    return Ragged(woven.offsets[::3], woven.values)


def _repeat(piece: Ints, times: int) -> Ragged:
    return Ragged(np.arange(times + 1, dtype=np.int64) * len(piece), np.tile(piece, times))
