"""Which entities a row of a spreadsheet may mean: by name, by type, and by what else the row says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from rapidfuzz import fuzz

from cear.core.types import Ints
from cear.data import KnowledgeBase
from cear.serving.names import SAME, NameSearch
from cear.serving.reconciling.messages import Candidate, Constraint, Feature, Kind, Query, Reconciled, Value
from cear.serving.reconciling.properties import Properties
from cear.serving.spelling import folded

NAME, OTHER = 3, 1
"""How much a name, and how much a type or each property, counts in a score."""
UNKNOWN = 50.0
"""What a property counts that nothing is known of: better than another value, worse than the right one."""
SURE, AHEAD = 95.0, 5.0
"""The score of a match, and how far it is before the next."""
_NAMED_ALIKE = 70.0  # the least likeness of two names that may be the same value
_WIDE = 100  # candidates by name of a query that says more than a name
_VALUES = 200  # known values of a property that are compared


class Matcher:
    """Finds the candidates of queries."""

    def __init__(self, kb: KnowledgeBase, names: NameSearch, properties: Properties, most: int) -> None:
        self._kb, self._names, self._properties, self._most = kb, names, properties, most

    def candidates(self, query: Query) -> list[Candidate]:
        """The candidates of a query, the best first; the first is a match if it is good enough and alone."""
        limit = int(min(max(query.limit, 0), self._most))
        named = self._named(query, max(limit, _WIDE))
        entities = np.array([each for each in named if self._may_be(each, query)], np.int64)
        features = [self._name_feature(query, named, entities), self._type_feature(query, entities)]
        features += [self._feature(each, entities) for each in query.properties]
        rows = [self._candidate(entity, [f[row] for f in features]) for row, entity in enumerate(entities.tolist())]
        rows.sort(key=lambda each: -each.score)
        return _with_match(rows)[:limit]

    def _named(self, query: Query, most: int) -> dict[int, float]:
        """The entities to look at, with the scores of their names; without a name, those with the right values."""
        by_id = self._kb.entities.by_id
        if query.query.strip():
            return {by_id[hit.id]: hit.score for hit in self._names.search(query.query, most)}
        having = Counter(entity for each in query.properties for entity in self._having(each))
        return {entity: SAME for entity, _ in having.most_common(most)}

    def _having(self, constraint: Constraint) -> set[int]:
        """The entities that have one of the values of a constraint."""
        which = self._properties.find(constraint.pid)
        if which is None:
            return set()
        values = [entity for value in constraint.values for entity in self._meant(value)]
        return {int(entity) for value in values for entity in self._properties.having(which, value)}

    def _meant(self, value: Value) -> list[int]:
        """The entities that a value is, by id or by name."""
        by_id = self._kb.entities.by_id
        if isinstance(value, Reconciled):
            return [by_id[value.id]] if value.id in by_id else []
        return [by_id[hit.id] for hit in self._names.search(_text(value), 10) if hit.score == SAME]

    def _may_be(self, entity: int, query: Query) -> bool:
        """Whether an entity has the types that a query insists on."""
        if query.type_strict == "should" or not query.types:
            return True
        has = [kind in self._types(entity) for kind in query.types]
        return all(has) if query.type_strict == "all" else any(has)

    def _types(self, entity: int) -> tuple[str, ...]:
        return () if self._kb.types is None else self._kb.types.of(entity)

    def _name_feature(self, query: Query, named: dict[int, float], entities: Ints) -> list[Feature | None]:
        if not query.query.strip():
            return [None] * len(entities)
        return [Feature(id="name", value=named[entity]) for entity in entities.tolist()]

    def _type_feature(self, query: Query, entities: Ints) -> list[Feature | None]:
        """Whether each entity has a type that it should; nothing of one whose types nobody knows."""
        types = [self._types(entity) for entity in entities.tolist()]
        if not query.types:
            return [None] * len(entities)
        return [Feature(id="type", value=SAME * bool({*has} & {*query.types})) if has else None for has in types]

    def _feature(self, constraint: Constraint, entities: Ints) -> list[Feature | None]:
        """How well the values of each entity are those of a constraint; nothing for a property that is none."""
        which = self._properties.find(constraint.pid)
        if which is None or not constraint.values:
            return [None] * len(entities)
        known = self._properties.values(which, entities)
        scores = [self._agreement(constraint, known.row(row)[:_VALUES]) for row in range(len(entities))]
        return [Feature(id=f"property/{which.id}", value=score) for score in scores]

    def _agreement(self, constraint: Constraint, known: Ints) -> float:
        """The mean over the values of a constraint of how alike the most alike known value is."""
        if not len(known):
            return UNKNOWN
        said = self._kb.entities.table[known].select("id", "name").rows()
        return float(np.mean([max(_alike(value, *each) for each in said) for value in constraint.values]))

    def _candidate(self, entity: int, features: Sequence[Feature | None]) -> Candidate:
        there = [feature for feature in features if feature is not None]
        weights = [NAME if feature.id == "name" else OTHER for feature in there]
        score = float(np.average([feature.value for feature in there], weights=weights)) if there else 0.0
        id_, name, description = self._kb.entities.table.row(entity)
        kinds = [Kind(id=kind, name=kind) for kind in self._types(entity)]
        return Candidate(id=id_, name=name, score=score, type=kinds, features=there, description=description)


def _with_match(ranked: list[Candidate]) -> list[Candidate]:
    """The candidates, the first one marked if it is surely what is meant."""
    if not ranked or ranked[0].score < SURE or any(ranked[0].score - each.score < AHEAD for each in ranked[1:2]):
        return ranked
    return [ranked[0].model_copy(update={"match": True}), *ranked[1:]]


def _alike(value: Value, id_: str, name: str) -> float:
    """How alike a value and a known entity are, from 0 to 100."""
    if isinstance(value, Reconciled):
        return SAME * (value.id == id_)
    text = _text(value)
    likeness = fuzz.ratio(folded(text), folded(name))
    return SAME if text == id_ else likeness * (likeness >= _NAMED_ALIKE)


def _text(value: str | float | bool) -> str:
    """A plain value as a name would have it: 5 and not 5.0, true and not True."""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else f"{value:.15g}"
