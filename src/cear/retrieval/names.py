"""Names as words of a dictionary: what an encoder of surface forms reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl

from cear.data import KnowledgeBase
from cear.nouns import Ints
from cear.retrieval.config import LstmConfig
from cear.retrieval.extreme_text.texts import words_of

UNKNOWN = 0  # the number of every rare word; real ones come after it
BACKWARDS = "<backwards>"  # no word of a name: those have letters and digits alone


@dataclass(frozen=True, eq=False)
class Words:
    """Names as numbers of words, cut to the same length; UNKNOWN also pads, and `lengths` tells where."""

    tokens: npt.NDArray[np.int32]  # (name, place)
    lengths: Ints  # (name,), at least 1
    size: int
    """Words in the dictionary, UNKNOWN among them."""

    @classmethod
    def numbered(cls, words: pl.Series, uses: Ints, *, min_count: int) -> Self:
        """The words of each name, (name,) lists, as numbers; one that is used less than `min_count` times is UNKNOWN.

        `uses` says how often each name is used. So a word that only unseen names have is UNKNOWN as well, and meets
        what was learned from rare words rather than a vector that nobody has trained.
        """
        table = pl.DataFrame({"word": words, "uses": uses}).with_row_index("name").explode("word")
        often = table.group_by("word").agg(pl.col("uses").sum()).filter(pl.col("uses") >= min_count)["word"].sort()
        numbers = table["word"].cast(pl.Enum(often), strict=False).to_physical().cast(pl.Int32) + 1
        lengths = words.list.len().to_numpy().astype(np.int64)
        tokens = np.full((len(words), int(lengths.max(initial=1))), UNKNOWN, np.int32)
        tokens[np.arange(tokens.shape[1]) < lengths[:, None]] = numbers.fill_null(UNKNOWN).to_numpy()
        return cls(tokens, lengths, len(often) + 1)

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True, eq=False)
class Names:
    """The names of a knowledge base's entities, and of its relations forwards and then backwards."""

    entities: Words  # (entity,)
    relations: Words  # (2R,)

    @classmethod
    def of(cls, kb: KnowledgeBase, config: LstmConfig) -> Self:
        """The names as these settings cut them; uses are counted in the training facts and nowhere else."""
        s, r, o = kb.facts("train").T
        entities = words_of(kb.entities.table["name"]).list.head(config.tokens)
        forwards = words_of(kb.relations.table["name"]).list.head(config.tokens)
        backwards = pl.select(pl.concat_list(pl.lit(BACKWARDS), forwards)).to_series().alias(forwards.name)
        entity_uses = np.bincount(np.concatenate([s, o]), minlength=kb.n_entities)
        relation_uses = np.tile(np.bincount(r, minlength=kb.n_relations), 2)
        return cls(
            Words.numbered(entities, entity_uses, min_count=config.min_count),
            Words.numbered(pl.concat([forwards, backwards]), relation_uses, min_count=config.min_count),
        )
