"""What kind of thing each entity is, as far as the data says: a city, a film, a person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from cear.core.errors import DataError
from cear.core.types import Ints, Ragged


@dataclass(frozen=True, slots=True, eq=False)
class TypeFacts:
    """Which facts say types: those of this relation whose object is one of these."""

    relation: int
    objects: Ints  # (type,): the entity that each type is


@dataclass(frozen=True, slots=True, eq=False)
class Types:
    """The types of every entity; one of which the data says nothing has none.

    Types may be said by facts themselves, as in RDF. Then they are those that the *training* facts say, and change
    with these: a fact that is held out does not come back as a type.
    """

    names: tuple[str, ...]  # (type,)
    of_entity: Ragged  # a row per entity: its types, ascending
    facts: TypeFacts | None = None
    """The facts that say these types; None where the data says them beside its facts."""

    @classmethod
    def of_pairs(cls, names: tuple[str, ...], entity: Ints, kind: Ints, n_entities: int) -> Types:
        """The types of these pairs of an entity and a type; a pair may come more than once."""
        entity, kind = np.divmod(np.unique(entity * len(names) + kind), max(len(names), 1))
        return cls(names, Ragged.grouped(entity, kind, n_entities))

    def of(self, entity: int) -> tuple[str, ...]:
        """The names of an entity's types."""
        return tuple(self.names[kind] for kind in self.of_entity.row(entity).tolist())

    def said_in(self, train: Ints) -> Types:
        """The types that are left with these training facts: all, unless facts say them, then those of these facts."""
        if self.facts is None:
            return self
        kind_of = np.full(len(self.of_entity), -1)
        kind_of[self.facts.objects] = np.arange(len(self.names))
        s, r, o = train.T
        said = (r == self.facts.relation) & (kind_of[o] >= 0)
        return replace(self.of_pairs(self.names, s[said], kind_of[o[said]], len(self.of_entity)), facts=self.facts)

    def check(self, n_entities: int) -> None:
        """Raise `DataError` unless every entity has a row, every type a name of its own."""
        if len(self.of_entity) != n_entities:
            raise DataError(f"{len(self.of_entity)} entities have a row of types, but there are {n_entities} entities.")
        values, n_types = self.of_entity.values, len(self.names)
        if len(values) and not 0 <= values.min() <= values.max() < n_types:
            raise DataError(f"Types go from {values.min()} to {values.max()}, but there are {n_types} names of types.")
        if len(set(self.names)) < n_types:
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise DataError(f"Two types are called {twice!r}; names of types must be distinct.")

    def content(self) -> Iterator[bytes]:
        """Bytes that differ whenever types do; what a digest is made of.

        Types that facts say add nothing to these facts, so there are none: such a knowledge base has the digest that
        it had before types were read.
        """
        if self.facts is None:
            yield b"types"
            names = [name.encode() for name in self.names]
            lengths = np.array([len(name) for name in names])
            yield b"".join(names)
            for numbers in (lengths, self.of_entity.offsets, self.of_entity.values):
                yield numbers.astype("<i8").tobytes()
