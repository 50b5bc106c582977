"""From words to integers, millions a second.

Tables of words are looked up by 64-bit hashes of them: text lies anywhere in memory and waits for it each time,
numbers do not. The result is compared with the words, so that it is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt
import polars as pl

from cear.core.types import Ints, Split

Codes = npt.NDArray[np.uint32]
NO_NUMBER = -1  # of a word that has no integer


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Words as places in a list of the distinct ones."""

    codes: Codes  # (word,)
    distinct: pl.Series


@dataclass(frozen=True, slots=True, eq=False)
class Numbered:
    """Words in the order of their integers, and columns of facts in these integers."""

    words: pl.Series
    columns: Mapping[Split, Ints]  # (fact, column)

    def __len__(self) -> int:
        return len(self.words)


def coded(words: pl.Series) -> Coded:
    """Each word as its place among the distinct words."""
    for seed in count():
        hashes = words.hash(seed)
        first = hashes.arg_unique()
        distinct = words.gather(first)
        known = pl.DataFrame({"hash": hashes.gather(first)}).with_row_index("code")
        codes = pl.DataFrame({"hash": hashes}).join(known, on="hash", how="left", maintain_order="left")["code"]
        if (distinct.gather(codes) == words).all():  # else two words have one hash; the next seed parts them
            return Coded(codes.to_numpy(), distinct)
    raise AssertionError("count() does not end")


def by_appearance(splits: Mapping[Split, pl.DataFrame], *columns: str) -> Numbered:
    """The words of these columns by where they first stand: split, then row, then column."""
    blocks, distinct = _blocks(splits, columns)
    codes = np.concatenate([block.ravel() for block in blocks.values()])
    first = np.empty(len(distinct), np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # the last to be written is the first to stand
    order = np.argsort(first)
    integers = np.empty(len(distinct), np.int64)
    integers[order] = np.arange(len(order))
    return Numbered(distinct.gather(order), {split: integers[block] for split, block in blocks.items()})


def as_given(words: pl.Series, splits: Mapping[Split, pl.DataFrame], *columns: str) -> Numbered:
    """The words of these columns by their places in a list that has all of them."""
    blocks, distinct = _blocks(splits, columns)
    integers = places(distinct, words)
    return Numbered(words, {split: integers[block] for split, block in blocks.items()})


def places(words: pl.Series, among: pl.Series) -> Ints:
    """The place of each word in a list of distinct words, `NO_NUMBER` if it is not there, (word,)."""
    table = pl.DataFrame({"word": among}).with_row_index("place")
    found = pl.DataFrame({"word": words}).join(table, on="word", how="left", maintain_order="left")["place"]
    return found.cast(pl.Int64).fill_null(NO_NUMBER).to_numpy()


def _blocks(splits: Mapping[Split, pl.DataFrame], columns: tuple[str, ...]) -> tuple[dict[Split, Codes], pl.Series]:
    """The codes of each split, (fact, column), and the distinct words that they stand for."""
    every = coded(pl.concat([facts[column] for facts in splits.values() for column in columns]))
    ends = np.cumsum([len(columns) * facts.height for facts in splits.values()])
    parts = np.split(every.codes, ends[:-1])
    blocks = {split: part.reshape(len(columns), -1).T for split, part in zip(splits, parts, strict=True)}
    return blocks, every.distinct
