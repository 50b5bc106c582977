"""Names as words of a dictionary: what an encoder of surface forms reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl

from cear.core.types import Bools, Ints
from cear.data import KnowledgeBase
from cear.texts import numbered, words_of

UNKNOWN = 0  # what every rare word is read as; the numbers of real ones come after it
BACKWARDS = "<backwards>"  # no word of a name: those have letters and digits alone


@dataclass(frozen=True, eq=False)
class Words:
    """Names as numbers of words; UNKNOWN fills those that are shorter, and `lengths` tells where."""

    tokens: npt.NDArray[np.int32]  # (name, place)
    lengths: Ints  # (name,), at least 1
    known: Bools  # (word,), which words are read as themselves and not as UNKNOWN

    @classmethod
    def of(cls, words: pl.Series, uses: Ints, *, min_count: int) -> Self:
        """The words of each name, (name,) lists, as numbers; one that is used less than `min_count` times is not known.

        `uses` says how often each name is used. So a word that only unseen names have is not known either, and meets
        what was learned from rare words rather than a vector that nobody has trained.
        """
        numbers, n_words = numbered(words)
        lengths = words.list.len().to_numpy().astype(np.int64)
        counts = np.bincount(numbers, weights=np.repeat(uses, lengths), minlength=n_words)
        tokens = np.full((len(words), int(lengths.max(initial=1))), UNKNOWN, np.int32)
        tokens[np.arange(tokens.shape[1]) < lengths[:, None]] = numbers + 1
        return cls(tokens, lengths, np.concatenate([[False], counts >= min_count]))

    def extended(self, names: pl.Series, first_new: int, *, tokens: int) -> Self:
        """The words of more names, from number `first_new` on, each cut to so many; the known ones stay the same.

        A word that no name before has is read as UNKNOWN. Words are numbered as before, in alphabetical order.
        """
        words = words_of(names).list.head(tokens)
        dictionary = words[:first_new].explode().unique().sort().to_list()
        number = {word: place + 1 for place, word in enumerate(dictionary)}
        new = [[number.get(word, UNKNOWN) for word in name] for name in words[first_new:].to_list()]
        lengths = np.array([len(name) for name in new], np.int64)
        places = max(self.tokens.shape[1], int(lengths.max(initial=1)))
        rows = np.full((len(self) + len(new), places), UNKNOWN, np.int32)
        rows[: len(self), : self.tokens.shape[1]] = self.tokens
        rows[len(self) :][np.arange(places) < lengths[:, None]] = np.concatenate([*map(np.array, new)])
        return type(self)(rows, np.concatenate([self.lengths, lengths]), self.known)

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True, eq=False)
class Names:
    """The names of a knowledge base's entities, and of its relations forwards and then backwards."""

    entities: Words  # (entity,)
    relations: Words  # (2R,)

    @classmethod
    def of(cls, kb: KnowledgeBase, *, tokens: int, min_count: int) -> Self:
        """The names, each cut to so many words; uses are counted in the training facts and nowhere else."""
        s, r, o = kb.facts("train").T
        entities = words_of(kb.entities.table["name"]).list.head(tokens)
        forwards = words_of(kb.relations.table["name"]).list.head(tokens)
        backwards = pl.select(pl.concat_list(pl.lit(BACKWARDS), forwards)).to_series().alias(forwards.name)
        entity_uses = np.bincount(np.concatenate([s, o]), minlength=kb.n_entities)
        relation_uses = np.tile(np.bincount(r, minlength=kb.n_relations), 2)
        return cls(
            Words.of(entities, entity_uses, min_count=min_count),
            Words.of(pl.concat([forwards, backwards]), relation_uses, min_count=min_count),
        )
