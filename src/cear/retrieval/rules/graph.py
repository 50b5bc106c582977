"""The facts as rules see them: attributes with their members, and entities with their attributes.

The attribute ⟨c, ρ⟩ is had by every answer of the query ⟨c, ρ, ?⟩, its *members*: "located in Zealand" is had by the
answers of ⟨Zealand, located in⁻¹, ?⟩. So a distinct query, an attribute and a row of the known answers are one thing,
and reciprocal relations make both directions of a fact look alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cear.core.types import Ints, Ragged
from cear.data import KnownAnswers


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Facts, grouped by attribute and by entity."""

    n_entities: int
    n_relations: int
    entity: Ints  # (attribute,), the c of each ⟨c, ρ⟩
    relation: Ints  # (attribute,), the ρ of each, ascending, and within it c is
    members: Ragged  # a row per attribute: who has it, ascending
    attributes: Ragged  # a row per entity: what it has, ascending
    steps: Ragged  # a row per entity: where a fact leads from it, ascending
    steps_by: Ints  # (step,), the relation of each of `steps`

    @classmethod
    def of(cls, facts: Ints, n_entities: int, n_relations: int) -> Graph:
        """The graph of these facts."""
        known = KnownAnswers.of(facts, n_entities, n_relations)
        queries, members = known.queries, known.answers
        source, relation, target = queries.entity[members.rows], queries.relation[members.rows], members.values
        order = np.lexsort((relation, target, source))
        return cls(
            n_entities,
            n_relations,
            entity=queries.entity,
            relation=queries.relation,
            members=members,
            attributes=Ragged.grouped(members.values, members.rows, n_entities),
            steps=Ragged.grouped(source[order], target[order], n_entities),
            steps_by=relation[order],
        )

    @property
    def blocks(self) -> Ints:
        """Where the attributes of each relation begin, and after the last one their number, (2R + 1,)."""
        return np.searchsorted(self.relation, np.arange(2 * self.n_relations + 1))

    def reciprocal(self, relation: int) -> int:
        """The relation that reads the same facts the other way round."""
        return (relation + self.n_relations) % (2 * self.n_relations)

    def step(self, entities: Ints, relation: int) -> Ints:
        """Whom a fact of this relation leads to from any of these entities, ascending, each once."""
        first, last = np.searchsorted(self.relation, [relation, relation + 1])
        if first == last:
            return np.zeros(0, np.int64)
        place = np.minimum(first + np.searchsorted(self.entity[first:last], entities), last - 1)
        found = place[self.entity[place] == entities].tolist()
        if len(found) == 1:  # as it is most of the time
            return self.members.row(found[0])
        return np.unique(np.concatenate([np.zeros(0, np.int64), *map(self.members.row, found)]))

    def attribute(self, entity: int, relation: int) -> int | None:
        """The attribute ⟨entity, relation⟩, or None if nobody has it."""
        first, last = np.searchsorted(self.relation, [relation, relation + 1])
        place = int(first + np.searchsorted(self.entity[first:last], entity))
        return place if place < last and self.entity[place] == entity else None
