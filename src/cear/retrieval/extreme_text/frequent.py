"""The entities that most often answer a relation, with and without a given fact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cear.core.types import NO_ENTITY, Ints


@dataclass(frozen=True, eq=False)
class FrequentAnswers:
    """The n + 1 most frequent answers of each relation; the last one steps in when one of the others is left out."""

    entities: Ints  # (relation, n + 1), most frequent first, the smaller number first among equals; NO_ENTITY pads
    counts: Ints  # (relation, n + 1)

    @classmethod
    def count(cls, relation: Ints, answer: Ints, *, n: int, n_relations: int, n_entities: int) -> FrequentAnswers:
        """The most frequent answers in these facts, (fact,) each."""
        pairs, counts = np.unique(relation * n_entities + answer, return_counts=True)
        r, entity = pairs // n_entities, pairs % n_entities
        order = np.lexsort((entity, -counts, r))
        r, entity, counts = r[order], entity[order], counts[order]
        place = np.arange(len(r)) - np.searchsorted(r, r)  # in the ranking of its relation
        best = place <= n
        entities, table = np.full((n_relations, n + 1), NO_ENTITY), np.zeros((n_relations, n + 1), np.int64)
        entities[r[best], place[best]] = entity[best]
        table[r[best], place[best]] = counts[best]
        return cls(entities, table)

    def of(self, relation: Ints) -> Ints:
        """The n most frequent answers of these relations, (query, n)."""
        return self.entities[relation, :-1]

    def without(self, relation: Ints, answer: Ints) -> Ints:
        """The n most frequent answers as if this one fact of each relation had not been counted, (fact, n).

        So a query that is trained on does not tell its own answer, and looks like one that is asked later.
        """
        entities = self.entities[relation]
        own = entities == answer[:, None]
        counts = self.counts[relation] - own
        spare, spare_count = entities[:, -1:], counts[:, -1:]
        better = (spare_count > counts) | ((spare_count == counts) & (spare < entities))
        return np.where(own & better, spare, entities)[:, :-1]
