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
from cear.retrieval.text.config import TextConfig

_BEGINNINGS = (4, 5)  # letters: a stem of sorts
_GRAMS = (3, 4, 5)  # letters, as in fastText (Bojanowski et al. 2017)
_OPENING = 5  # words of a description
_MIN_TEXTS = 2  # a piece that one text alone has tells nothing about another
_APART = 0.3  # how far a relation and its reciprocal are apart at the start, against how far relations are


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
        lengths = read.list.len().to_numpy()
        row, place = np.repeat(np.arange(len(texts)), lengths), np.concatenate([np.arange(n) for n in lengths])
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


class WordVectors(nn.Module):
    """A vector for every piece; a part of a text is the sum of its own, and a text that of its parts.

    t = w(r) * Σ share(r, part) part(s): the relation says how much each part counts, and each coordinate of their sum.
    query = t + f(t, r, t r, s) with what s means; entity = Σ share(part) part(e); both at unit length, the query over a
    temperature of the relation. f starts at zero.
    """

    start = 10.0  # 1 / temperature, before training: half of that of meanings

    def __init__(self, pieces: Pieces, n_relations: int, meaning: int, config: TextConfig, *, seed: int = 0) -> None:
        """`meaning` is the width of the vectors that say what subjects mean."""
        super().__init__()
        width = config.words
        self._parts = pieces.parts
        self._gain = math.sqrt(width)
        generator = torch.Generator().manual_seed(seed)
        self.piece = Embedding(pieces.count, width, scale=width**-0.5, generator=generator)
        self.relation = Directions.drawn(n_relations, width, generator=generator)
        self.shares = Directions(torch.ones(n_relations, len(pieces.parts)))
        self.weights = Directions(torch.ones(n_relations, width))
        self.log_scale = Directions(torch.full((n_relations, 1), math.log(self.start)))
        self.entity_shares = nn.Parameter(torch.ones(len(pieces.parts)))
        self.correction = correction(3 * width + meaning, width, config, seed=seed)

    def queries(self, queries: Queries, meaning: Tensor) -> Tensor:
        """The vector of each query, (query, width); `meaning` is that of its subject, (query, meaning)."""
        relations = torch.as_tensor(queries.relation)
        said = self._sum(queries.entity, self.shares(relations)) * self.weights(relations)
        text, r = nn.functional.normalize(said, dim=-1), self.relation(relations)
        wide = self._gain * text
        read = torch.cat([wide, r, wide * r, meaning], -1)
        scale: Tensor = self.log_scale(relations).exp()
        return scale * nn.functional.normalize(text + self.correction(read), dim=-1)

    def entities(self, among: Tensor) -> Tensor:
        """The vector of each of these entities, (entity, width)."""
        return nn.functional.normalize(self._sum(among.numpy(), self.entity_shares), dim=-1)

    def _sum(self, which: Ints, shares: Tensor) -> Tensor:
        parts = torch.stack([self._bag(part, which) for part in self._parts], dim=-1)  # (text, width, part)
        return (parts * shares.unsqueeze(-2)).sum(-1)

    def _bag(self, part: csr_array, which: Ints) -> Tensor:
        rows = part[which]
        return nn.functional.embedding_bag(
            torch.from_numpy(rows.indices.astype(np.int64)),
            self.piece.weight,
            torch.from_numpy(rows.indptr[:-1].astype(np.int64)),
            mode="sum",
            per_sample_weights=torch.from_numpy(rows.data),
        )


def correction(read: int, width: int, config: TextConfig, *, seed: int) -> nn.Sequential:
    """A network of one hidden layer that starts as zero whatever it reads."""
    with torch.random.fork_rng(devices=[]):  # fresh weights depend on the seed alone
        torch.manual_seed(seed)
        first, last = nn.Linear(read, config.hidden), nn.Linear(config.hidden, width)
    for weight in last.parameters():
        nn.init.zeros_(weight)
    return nn.Sequential(first, nn.GELU(), nn.Dropout(config.dropout), last)


class Directions(nn.Module):
    """Numbers for either direction of each relation: a + b forwards, a - b backwards.

    What is learned forwards is known backwards at once, so far as b, which starts small, has not set them apart. So a
    fact of a symmetric relation teaches its other way round.
    """

    def __init__(self, both: Tensor, difference: Tensor | None = None) -> None:
        super().__init__()
        self.both = nn.Parameter(both)
        self.difference = nn.Parameter(torch.zeros_like(both) if difference is None else difference)

    @classmethod
    def drawn(cls, n_relations: int, width: int, *, generator: torch.Generator) -> Self:
        """Standard normal numbers, the two directions much nearer to each other than to those of other relations."""
        both, difference = torch.randn(2, n_relations, width, generator=generator)
        return cls(both, _APART * difference)

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
