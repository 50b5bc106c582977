"""The paper's sequence, `[CLS] s [SPC] r [SEP] o1 [SEP] … ok [SEP]`, put together from pieces made once.

The direction is a token before the relation. A list is never cut: where the encoder has too few positions for all
candidates, the surface forms of that list are shortened, all to the same number of tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from cear.core.devices import tensor
from cear.core.errors import ConfigError
from cear.core.types import NO_ENTITY, Bools, Ints, Queries, Ragged
from cear.texts import SpecialTokens, SurfaceForms, cut, surround

_NO_SLOT = -1  # a token of no candidate


@dataclass(frozen=True, slots=True, eq=False)
class SequenceBatch:
    """Sequences side by side, padded to the longest."""

    tokens: Tensor  # (sequence, position)
    mask: Tensor  # (sequence, position), False where padded
    k: int
    token: Tensor  # (token of a candidate,): its place among all positions of all sequences
    owner: Tensor  # (token of a candidate,): its candidate among all candidates of all sequences
    counts: Tensor  # (sequence * k,): the tokens of each candidate, at least 1

    @classmethod
    def of(cls, tokens: Ints, filled: Bools, slots: Ints, k: int, device: torch.device) -> SequenceBatch:
        """Sequences as tensors of a device; `slots` says which candidate a token belongs to, or -1."""
        sequence, position = np.nonzero(slots != _NO_SLOT)
        owner = sequence * k + slots[sequence, position]
        counts = np.maximum(np.bincount(owner, minlength=len(slots) * k), 1)
        token = sequence * slots.shape[1] + position
        arrays = (tensor(each, device) for each in (token, owner, counts))
        return cls(tensor(tokens, device), tensor(filled, device), k, *arrays)


class Assembler:
    """Puts a query and its candidates into one sequence of tokens."""

    def __init__(self, forms: SurfaceForms, special: SpecialTokens, *, width: int, positions: int) -> None:
        self._forms, self._special = forms, special
        self._width, self._positions = width, positions
        self._n_entities = len(forms.entities)
        self._pieces = lru_cache(maxsize=None)(self._make_pieces)

    def widths(self, queries: Queries, entities: Ints) -> Ints:
        """How many tokens a surface form may have in each list, (list,): all, unless the list would not fit."""
        return self._sizes(self._rows(queries, entities))[0]

    def lengths(self, queries: Queries, entities: Ints) -> Ints:
        """The number of tokens of each sequence, (list,)."""
        return self._sizes(self._rows(queries, entities))[1]

    def assemble(self, queries: Queries, entities: Ints, device: torch.device | None = None) -> SequenceBatch:
        """The sequences of these lists; a padded place of a list takes no token."""
        rows = self._rows(queries, entities)
        widths, lengths = self._sizes(rows)
        shape = (len(queries), int(lengths.max(initial=0)))
        tokens, slots = np.full(shape, self._special.pad), np.full(shape, _NO_SLOT)
        filled = np.arange(shape[1]) < lengths[:, None]
        for width in np.unique(widths).tolist():
            chosen = widths == width
            pieces = self._pieces(width).take(rows[chosen].reshape(-1))
            place = filled & chosen[:, None]
            tokens[place] = pieces.values
            slots[place] = _slots(pieces, rows.shape[1])
        return SequenceBatch.of(tokens, filled, slots, entities.shape[1], device or torch.device("cpu"))

    def _sizes(self, rows: Ints) -> tuple[Ints, Ints]:
        """The tokens that a surface form may have in each list, and the tokens of its sequence, (list,) each."""
        widths, lengths = np.full(len(rows), self._width), self._tokens(rows, self._width)
        for width in range(self._width - 1, 0, -1):
            too_long = lengths > self._positions
            if not too_long.any():
                break
            widths[too_long], lengths[too_long] = width, self._tokens(rows[too_long], width)
        if (lengths > self._positions).any():
            raise ConfigError(
                f"{rows.shape[1] - 2} candidates do not fit into {self._positions} positions, even with one token "
                "each. Set a smaller candidates.k, or use an encoder with more positions."
            )
        return widths, lengths

    def _tokens(self, rows: Ints, width: int) -> Ints:
        tokens: Ints = self._pieces(width).counts[rows].sum(axis=1)
        return tokens

    def _rows(self, queries: Queries, entities: Ints) -> Ints:
        """The pieces of each sequence, (list, 2 + k): subject, relation, candidates."""
        n, last = self._n_entities, 2 * self._n_entities + 2 * len(self._forms.relations)
        query = np.stack([n + queries.entity, 2 * n + queries.relation], axis=1)
        return np.concatenate([query, np.where(entities == NO_ENTITY, last, entities)], axis=1)

    def _make_pieces(self, width: int) -> Ragged:
        """Candidates `o [SEP]`, subjects `[CLS] s [SPC]`, relations `[TAIL] r [SEP]` and `[HEAD] r [SEP]`, nothing."""
        token = self._special
        entities, relations = cut(self._forms.entities, width), cut(self._forms.relations, width)
        separator = np.array([token.separator])
        return Ragged.concat(
            [
                surround(entities, np.zeros(0, np.int64), separator),
                surround(entities, np.array([token.start]), np.array([token.space])),
                surround(relations, np.array([token.ask_tail]), separator),
                surround(relations, np.array([token.ask_head]), separator),
                Ragged.empty(1),
            ]
        )


def _slots(pieces: Ragged, per_list: int) -> Ints:
    """The candidate of each token, -1 for those of the query and for separators."""
    slot = np.tile(np.arange(-2, per_list - 2), len(pieces) // per_list)
    slots = np.repeat(np.maximum(slot, _NO_SLOT), pieces.counts)
    slots[pieces.offsets[1:][pieces.counts > 0] - 1] = _NO_SLOT  # the last token of a piece separates
    return slots
