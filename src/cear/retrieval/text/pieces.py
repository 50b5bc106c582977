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
from cear.texts import numbered, words_of

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
    def of(cls, entities: Vocabulary, *, words: int, first_new: int | None = None) -> Self:
        """Those of a vocabulary, each description cut to so many words. Runs of letters are looked for in names.

        Which pieces there are and what they weigh is counted before number `first_new`, if there is one: entities that
        come later have none of their own.
        """
        table, n = entities.table, len(entities)
        names, descriptions = (words_of(table[part].fill_null("")).list.head(words) for part in ("name", "description"))
        read = pl.concat([names, descriptions, descriptions.list.head(_OPENING)])
        held, distinct = _held(read), read.explode().unique().sort().to_list()
        whole, letters = (_pieces_of(distinct, of) for of in (_whole, _letters))
        of_names = hstack([held[:n] @ whole, held[:n] @ letters], format="csr")
        of_others = (_wider(part @ whole, letters.shape[1]) for part in (held[n : 2 * n], held[2 * n :]))
        return cls(_weighted(of_names, *of_others, counted=first_new))

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
    return _held(pl.Series(found, dtype=pl.List(pl.String)))


def _held(lists: pl.Series) -> csr_array:
    """Which of all items, in alphabetical order, each list has, (list, item)."""
    numbers, n_items = numbered(lists)
    rows = np.repeat(np.arange(len(lists)), lists.list.len().to_numpy())
    return csr_array((np.ones(len(rows), np.float32), (rows, numbers)), shape=(len(lists), n_items))


def _wider(rows: csr_array, columns: int) -> csr_array:
    """The rows with so many empty columns more."""
    return csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], rows.shape[1] + columns))


def _weighted(*parts: csr_array, counted: int | None) -> tuple[csr_array, ...]:
    """The parts with log(texts / texts that have it) for each piece, without those that hardly any has.

    Only the first so many texts are `counted`. Pieces are in alphabetical order, so that those kept are the same ones
    in the same order whatever comes later.
    """
    once = [(part > 0).astype(np.float32) for part in parts]  # however often
    having = (sum(part[:counted] for part in once) > 0).sum(axis=0)
    kept = having >= _MIN_TEXTS
    rarity = np.log(parts[0][:counted].shape[0] / having[kept]).astype(np.float32)
    return tuple(_at_unit_length(part[:, kept] * rarity) for part in once)


def _at_unit_length(rows: csr_array) -> csr_array:
    length = np.sqrt((rows * rows).sum(axis=1))
    return csr_array(diags_array(1 / np.where(length > 0, length, 1)) @ rows, dtype=np.float32)
