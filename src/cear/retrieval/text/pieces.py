"""Words and pieces of words: what texts share letter by letter, which an encoder of sentences reads over.

Of ⟨position, derivationally related form, ?⟩ the spelling says more than the meaning, and a definition often names the
answer: "a *dog* that …".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
from scipy.sparse import csr_array, diags_array, hstack

from cear.data import Vocabulary
from cear.nouns import Ints
from cear.retrieval.extreme_text.texts import numbered, words_of

_BEGINNINGS = (4, 5)  # letters: a stem of sorts
_GRAMS = (3, 4, 5)  # letters, as in fastText (Bojanowski et al. 2017)
_OPENING = 5  # words of a description
_MIN_TEXTS = 2  # a piece that one text alone has tells nothing about another


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Which words and pieces of words three parts of each entity's text have, rare ones weighing more."""

    parts: tuple[csr_array, csr_array, csr_array]
    """Name, description, and its first words, which tend to say what kind it is; (entity, piece), at unit length."""

    @classmethod
    def of(cls, entities: Vocabulary, *, words: int) -> Self:
        """Those of a vocabulary, each description cut to so many words. Runs of letters are looked for in names."""
        table = entities.table
        texts = pl.concat([table["name"].alias("text"), table["description"].fill_null("").alias("text")])
        read = words_of(texts).list.head(words)
        numbers, n_words = numbered(read)
        lengths = read.list.len().to_numpy().astype(np.int64)
        row = np.repeat(np.arange(len(texts)), lengths)
        place = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)  # of each word in its text
        every, first = (
            _binary(row[place < end], numbers[place < end], (len(texts), n_words)) for end in (words, _OPENING)
        )
        distinct = read.explode().unique().sort().to_list()
        whole, letters = (_pieces_of(distinct, of) for of in (_whole, _letters))
        names, descriptions, openings = every[: len(table)], every[len(table) :], first[len(table) :]
        return cls(
            _weighted(
                hstack([names @ whole, names @ letters], format="csr"),
                *(_wider(part @ whole, letters.shape[1]) for part in (descriptions, openings)),
            )
        )

    @property
    def count(self) -> int:
        """The number of pieces."""
        return int(self.parts[0].shape[1])


def _whole(word: str) -> Iterable[str]:
    """The word and its beginnings."""
    return [f"={word}", *(f"^{word[:letters]}" for letters in _BEGINNINGS if len(word) >= letters)]


def _letters(word: str) -> Iterable[str]:
    """Runs of letters, the ends of the word among them."""
    marked = f"<{word}>"
    return {marked[start : start + n] for n in _GRAMS for start in range(len(marked) - n + 1)}


def _pieces_of(words: list[str], of: Callable[[str], Iterable[str]]) -> csr_array:
    """Which pieces each word has, (word, piece)."""
    found = [sorted(of(word)) if word else [] for word in words]  # where nothing is written, the word is empty
    rows = np.repeat(np.arange(len(words)), [len(each) for each in found])
    numbers, n_pieces = numbered(pl.Series(found, dtype=pl.List(pl.String)))
    return _binary(rows, numbers, (len(words), n_pieces))


def _binary(rows: Ints, columns: Ints, shape: tuple[int, int]) -> csr_array:
    return csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)


def _wider(rows: csr_array, columns: int) -> csr_array:
    """The rows with so many empty columns more."""
    return csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], rows.shape[1] + columns))


def _weighted(*parts: csr_array) -> tuple[csr_array, ...]:
    """The parts with log(texts / texts that have it) for each piece, without those that hardly any has."""
    for part in parts:
        part.data = np.ones_like(part.data)  # however often
    having = (sum(parts) > 0).sum(axis=0)
    kept = having >= _MIN_TEXTS
    rarity = np.log(parts[0].shape[0] / having[kept]).astype(np.float32)
    return tuple(_at_unit_length(part[:, kept] * rarity) for part in parts)


def _at_unit_length(rows: csr_array) -> csr_array:
    length = np.sqrt((rows * rows).sum(axis=1))
    return csr_array(diags_array(1 / np.where(length > 0, length, 1)) @ rows, dtype=np.float32)
