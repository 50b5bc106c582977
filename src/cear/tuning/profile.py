"""What a knowledge base looks like, as far as it decides which settings are worth trying."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cear.core.types import Floats, Ints
from cear.data import KnowledgeBase, Vocabulary, stands_turned

ID = r"^\S*\d\S*$"  # one word with a digit in it: Q42, /m/02mjmr, n02084071
SAMPLE = 1000  # facts or names that are looked at


@dataclass(frozen=True)
class Profile:
    """Sizes, texts and split of a knowledge base."""

    entities: int
    relations: int
    facts: int
    """Training facts."""
    texts: float
    """The share of entities with a text: a description, or a name that is no mere id."""
    linked: float
    """The share of validation facts about two entities that train links: none where a split took such pairs out."""
    inverse: float
    """The share of validation facts that train has the other way round."""

    @classmethod
    def of(cls, kb: KnowledgeBase) -> Profile:
        """The profile of a knowledge base; validation facts are looked at, test facts are not."""
        train, valid = kb.facts("train"), kb.facts("valid")[:SAMPLE]
        return cls(
            kb.n_entities,
            kb.n_relations,
            len(train),
            texts=_with_text(kb.entities),
            linked=_share(np.isin(_pairs(valid, kb.n_entities), _pairs(train, kb.n_entities))),
            inverse=_share(stands_turned(valid, train)),
        )

    @property
    def in_words(self) -> str:
        """The profile as a sentence."""
        return (
            f"{self.entities:,} entities, {self.relations:,} relations, {self.facts:,} training facts. "
            f"{self.texts:.0%} of the entities have a text; train links the two entities of {self.linked:.0%} of the "
            f"validation facts, and has {self.inverse:.0%} of them the other way round."
        )


def _with_text(entities: Vocabulary) -> float:
    some = entities.table.head(SAMPLE)
    named = ~some["name"].str.contains(ID) | some["description"].is_not_null()
    return _share(named.to_numpy())


def _pairs(facts: Ints, n_entities: int) -> Ints:
    """One number for the two entities of each fact, whichever comes first, (fact,)."""
    low, high = np.sort(facts[:, [0, 2]], axis=1).T
    numbers: Ints = low * n_entities + high
    return numbers


def _share(which: Floats | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    return float(which.mean()) if len(which) else 0.0
