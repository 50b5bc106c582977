"""From words to integers: each word is hashed once, into a code; the rest is arithmetic on codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from cear.data.draft import FACT, word_types
from cear.nouns import Ints, Split

Codes = npt.NDArray[np.uint32]
NO_NUMBER = -1  # of a code whose word has no integer


@dataclass(frozen=True, slots=True, eq=False)
class Numbering:
    """Words in the order of their integers, and the way there."""

    coded: pl.Series
    """The words as codes, distinct; while this column lives, so does the code book."""
    of_code: Ints  # (code,)

    def __len__(self) -> int:
        return len(self.coded)

    @property
    def words(self) -> pl.Series:
        """The words as text."""
        return self.coded.cast(pl.String)

    def numbers(self, column: pl.Series) -> Ints:
        """The integer of each word of a column of text or codes, `NO_NUMBER` for a word that has none."""
        codes = _codes(column.cast(self.coded.dtype))
        unknown = int(codes.max(initial=0)) + 1 - len(self.of_code)
        return np.pad(self.of_code, (0, max(unknown, 0)), constant_values=NO_NUMBER)[codes]


def coded(splits: Mapping[Split, pl.DataFrame]) -> dict[Split, pl.DataFrame]:
    """The same facts with their words as codes of one code book."""
    types = word_types()
    return {
        split: facts if isinstance(facts["subject"].dtype, pl.Categorical) else facts.cast(types)
        for split, facts in splits.items()
    }


def by_appearance(splits: Mapping[Split, pl.DataFrame], *columns: str) -> Numbering:
    """The words of coded columns by where they first stand: split, then row, then column."""
    parts = [[_codes(facts[column]) for column in columns] for facts in splits.values()]
    codes = np.concatenate([np.stack(part, axis=1).ravel() for part in parts])
    first = _first_place(codes)
    in_order = np.sort(first[first < len(codes)])
    of_code = np.full(len(first), NO_NUMBER)
    of_code[codes[in_order]] = np.arange(len(in_order))
    row, column = np.divmod(in_order, len(columns))
    end_to_end = pl.concat([facts[name] for name in columns for facts in splits.values()])
    return Numbering(end_to_end.gather(row + column * (len(codes) // len(columns))), of_code)


def as_given(words: pl.Series, like: pl.Series) -> Numbering:
    """Distinct words that have their integers already, by the code book of a coded column."""
    coded = words.cast(like.dtype)
    codes = _codes(coded)
    of_code = np.full(int(codes.max(initial=0)) + 1, NO_NUMBER)
    of_code[codes] = np.arange(len(words))
    return Numbering(coded, of_code)


def in_integers(facts: pl.DataFrame, entities: Numbering, relations: Numbering) -> Ints:
    """Coded facts as integers, (fact, 3)."""
    integers = np.empty((facts.height, 3), np.int64)
    for index, (column, numbering) in enumerate(zip(FACT, (entities, relations, entities), strict=True)):
        integers[:, index] = numbering.numbers(facts[column])
    return integers


def _first_place(codes: Codes) -> Ints:
    """Where each code first stands, (code,); behind the end for a code that does not occur."""
    first = np.full(int(codes.max(initial=0)) + 1, len(codes))
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # the last to be written is the first to stand
    return first


def _codes(column: pl.Series) -> Codes:
    codes: Codes = column.to_physical().to_numpy()
    return codes
