"""Several names for one thing: which surface forms the ends of a fact could as well have been."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cear.core.errors import DataError
from cear.core.types import SPLITS, Ints, Ragged, Split

ONE_NAME = -1  # in the place of a thing: the end of a fact has no other mention than the fact's own


@dataclass(frozen=True, slots=True, eq=False)
class Mentions:
    """Things that have several mentions, and which of them the ends of facts mean.

    In an open knowledge base an entity is a surface form. The same form may mean one thing in this fact and
    another in that ("Paris"), so it is the end of a fact that is linked to a thing, not the entity. This is
    knowledge for measuring; nothing that learns reads it.
    """

    members: Ragged  # a row per thing: the entities that are mentions of it, ascending
    ends: Mapping[Split, Ints]
    """(fact, 2): the things of subject and object, or `ONE_NAME`; a split that is not here has no links."""

    def of(self, entities: Ints, things: Ints) -> Ragged:
        """The mentions of each thing; of `ONE_NAME`, the entity at the same place."""
        alone = things == ONE_NAME
        singles = entities[alone]
        start = self.members.offsets[-1]
        rows = Ragged(
            np.concatenate([self.members.offsets, start + np.arange(1, len(singles) + 1)]),
            np.concatenate([self.members.values, singles]),
        )
        return rows.take(np.where(alone, len(self.members) + np.cumsum(alone) - 1, things))

    def check(self, facts: Mapping[Split, Ints], n_entities: int) -> None:
        """Raise `DataError` unless every link leads to a thing that has the fact's own entity as a mention."""
        values = self.members.values
        if len(values) and not 0 <= values.min() <= values.max() < n_entities:
            raise DataError(f"Mentions go from {values.min()} to {values.max()}, but there are {n_entities} entities.")
        for split, things in self.ends.items():
            if things.shape != (len(facts[split]), 2):
                raise DataError(
                    f"The {len(facts[split])} {split} facts have links of shape {things.shape}; expected one for the "
                    "subject and one for the object of each."
                )
            if len(things) and not ONE_NAME <= things.min() <= things.max() < len(self.members):
                raise DataError(f"A {split} fact is linked to a thing outside the {len(self.members)} that there are.")
            self._check_own(facts[split][:, [0, 2]].ravel(), things.ravel(), split)

    def _check_own(self, entities: Ints, things: Ints, split: Split) -> None:
        mentions = self.of(entities, things)
        own = np.bincount(mentions.rows[mentions.values == entities[mentions.rows]], minlength=len(entities))
        if not own.all():
            place = int(own.argmin())
            raise DataError(
                f"The entity {entities[place]} of {split} fact {place // 2} is not a mention of the thing "
                f"{things[place]} that it is linked to; its mentions are {mentions.row(place).tolist()}."
            )

    def content(self) -> Iterator[bytes]:
        """Bytes that differ whenever things or links do; what a digest is made of."""
        for numbers in (self.members.offsets, self.members.values, *(self.ends.get(split) for split in SPLITS)):
            yield b"" if numbers is None else numbers.astype("<i8").tobytes()
