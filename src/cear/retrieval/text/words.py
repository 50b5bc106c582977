"""Words and pieces of words: what texts share letter by letter, which an encoder of sentences reads over.

Of ⟨position, derivationally related form, ?⟩ the spelling says more than the meaning, and a definition often names the
answer: "a *dog* that …".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
import torch
from scipy.sparse import csr_array, diags_array, hstack
from torch import Tensor, nn

from cear.data import Vocabulary
from cear.nouns import Ints, Queries
from cear.retrieval.extreme_text.texts import numbered, words_of
from cear.retrieval.scorer import Embedding

_BEGINNINGS = (4, 5)  # letters: a stem of sorts
_GRAMS = (3, 4, 5)  # letters, as in fastText (Bojanowski et al. 2017)
_MIN_TEXTS = 2  # a piece that one text alone has tells nothing about another


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Which words and pieces of words each entity's name and description have, rare ones weighing more."""

    names: csr_array  # (entity, piece), rows at unit length
    descriptions: csr_array  # (entity, piece), the same pieces, rows at unit length

    @classmethod
    def of(cls, entities: Vocabulary, *, words: int) -> Self:
        """Those of a vocabulary, each description cut to so many words: letters of names alone are told apart."""
        table = entities.table
        texts = pl.concat([table["name"].alias("text"), table["description"].fill_null("").alias("text")])
        read = words_of(texts).list.head(words)
        numbers, n_words = numbered(read)
        held = _binary(np.repeat(np.arange(len(texts)), read.list.len().to_numpy()), numbers, (len(texts), n_words))
        distinct = read.explode().unique().sort().to_list()
        whole, letters = (_pieces_of(distinct, of) for of in (_whole, _letters))
        names, descriptions = held[: len(table)], held[len(table) :]
        empty = csr_array((len(table), letters.shape[1]), dtype=np.float32)
        return cls(*_weighted(_beside(names @ whole, names @ letters), _beside(descriptions @ whole, empty)))

    @property
    def count(self) -> int:
        """The number of pieces."""
        return int(self.names.shape[1])


class WordVectors(nn.Module):
    """A vector for every piece; those of a text are added up.

    query = a name(s) + b description(s), each coordinate times its weight, where a, b and the weights belong to the
    relation; entity = a' name(e) + b' description(e); both at unit length, over a temperature of the relation.
    """

    start = 10.0  # 1 / temperature, before training: half of that of meanings

    def __init__(self, pieces: Pieces, n_relations: int, width: int, *, seed: int = 0) -> None:
        super().__init__()
        self._pieces = pieces
        generator = torch.Generator().manual_seed(seed)
        self.piece = Embedding(pieces.count, width, scale=width**-0.5, generator=generator)
        self.shares = Directions(torch.ones(n_relations, 2))
        self.weights = Directions(torch.ones(n_relations, width))
        self.log_scale = Directions(torch.full((n_relations, 1), math.log(self.start)))
        self.entity_shares = nn.Parameter(torch.ones(2))

    def queries(self, queries: Queries) -> Tensor:
        """The vector of each query, (query, width)."""
        relations = torch.as_tensor(queries.relation)
        text = self._sum(queries.entity, self.shares(relations)) * self.weights(relations)
        scale: Tensor = self.log_scale(relations).exp()
        return scale * nn.functional.normalize(text, dim=-1)

    def entities(self, among: Tensor) -> Tensor:
        """The vector of each of these entities, (entity, width)."""
        return nn.functional.normalize(self._sum(among.numpy(), self.entity_shares), dim=-1)

    def _sum(self, which: Ints, shares: Tensor) -> Tensor:
        of_name, of_description = shares[..., :1], shares[..., 1:]
        return of_name * self._bag(self._pieces.names, which) + of_description * self._bag(
            self._pieces.descriptions, which
        )

    def _bag(self, texts: csr_array, which: Ints) -> Tensor:
        rows = texts[which]
        return nn.functional.embedding_bag(
            torch.from_numpy(rows.indices.astype(np.int64)),
            self.piece.weight,
            torch.from_numpy(rows.indptr[:-1].astype(np.int64)),
            mode="sum",
            per_sample_weights=torch.from_numpy(rows.data),
        )


class Directions(nn.Module):
    """Numbers for either direction of each relation: a + b forwards, a - b backwards.

    What is learned forwards is known backwards at once, so far as b, which starts small, has not set them apart. So a
    fact of a symmetric relation teaches its other way round.
    """

    def __init__(self, both: Tensor, difference: Tensor | None = None) -> None:
        super().__init__()
        self.both = nn.Parameter(both)
        self.difference = nn.Parameter(torch.zeros_like(both) if difference is None else difference)

    def forward(self, relations: Tensor) -> Tensor:
        """The numbers of these relations, the reciprocal of r being r + R, (relation, …)."""
        n = len(self.both)
        sign = torch.where(relations < n, 1.0, -1.0).unsqueeze(-1)
        return self.both[relations % n] + sign * self.difference[relations % n]


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


def _beside(left: csr_array, right: csr_array) -> csr_array:
    return hstack([left, right], format="csr")


def _weighted(*texts: csr_array) -> list[csr_array]:
    """The texts with log(texts / texts that have it) for each piece, without those that hardly any has."""
    for text in texts:
        text.data = np.ones_like(text.data)  # however often
    n = texts[0].shape[0]
    having = (sum(texts) > 0).sum(axis=0)
    kept = having >= _MIN_TEXTS
    rarity = np.log(n / having[kept]).astype(np.float32)
    return [_at_unit_length(text[:, kept] * rarity) for text in texts]


def _at_unit_length(rows: csr_array) -> csr_array:
    length = np.sqrt((rows * rows).sum(axis=1))
    return csr_array(diags_array(1 / np.where(length > 0, length, 1)) @ rows, dtype=np.float32)
