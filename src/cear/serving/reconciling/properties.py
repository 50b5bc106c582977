"""Relations as properties: from subject to object, and behind ^ from object to subject."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rapidfuzz import fuzz, process

from cear.core.types import SPLITS, Ints, Queries, Ragged
from cear.data import KnowledgeBase
from cear.serving.spelling import folded

BACKWARDS = "^"  # as in SPARQL's property paths
_ALIKE = 60.0  # the least score of a name that is suggested


@dataclass(frozen=True)
class Property:
    """A relation in one of its directions."""

    id: str
    name: str
    relation: int
    """As queries have it: from R on it asks for subjects."""
    backwards: bool = False


class Properties:
    """The properties of a knowledge base, the most used first, those from object to subject last."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        forwards, backwards = np.split(self._uses(None), 2)
        order = [*np.argsort(-forwards, kind="stable"), *(np.argsort(-backwards, kind="stable") + kb.n_relations)]
        self._all = [_property(kb, int(each)) for each in order]
        self._by_id = {each.id: each for each in reversed(self._all)}  # an id of the data's own is never backwards

    def find(self, id_: str) -> Property | None:
        """The property of an id, or None."""
        return self._by_id.get(id_)

    def values(self, which: Property, entities: Ints) -> Ragged:
        """The known values of a property, a row for each entity."""
        asked = Queries(entities, np.full(len(entities), which.relation))
        return self.kb.known(*SPLITS).of_queries(asked)

    def having(self, which: Property, value: int) -> Ints:
        """The entities that are known to have this value of a property."""
        n = self.kb.n_relations
        back = which.relation - n if which.backwards else which.relation + n
        return self.kb.known(*SPLITS).of_queries(Queries(np.array([value]), np.array([back]))).row(0)

    def suggested(self, text: str) -> list[Property]:
        """The properties whose names are like a text, the most alike first; all of them for an empty one."""
        return [self._all[which] for which in alike(text, [each.name for each in self._all])]

    def of_type(self, kind: str | None) -> list[Property]:
        """The properties that entities of a type have, or any entity, the most used first."""
        uses = self._uses(kind)
        used = [each for each in self._all if uses[each.relation]]
        return sorted(used, key=lambda each: (each.backwards, -uses[each.relation]))

    def _uses(self, kind: str | None) -> Ints:
        """How many facts of entities of a type each relation has, in both directions, (2 R,)."""
        s, r, o = np.concatenate([self.kb.facts(split) for split in SPLITS]).T
        chosen = of_type(self.kb, kind)
        n = self.kb.n_relations
        return np.concatenate([np.bincount(r[chosen[s]], minlength=n), np.bincount(r[chosen[o]], minlength=n)])


def of_type(kb: KnowledgeBase, kind: str | None) -> np.typing.NDArray[np.bool_]:
    """Which entities have a type, (entity,); all for None."""
    chosen = np.full(kb.n_entities, kind is None)
    if kind is not None and kb.types is not None and kind in kb.types.names:
        types = kb.types.of_entity
        chosen[types.rows[types.values == kb.types.names.index(kind)]] = True
    return chosen


def types_by_use(kb: KnowledgeBase) -> list[str]:
    """All types, those of the most entities first."""
    if kb.types is None:
        return []
    counts = np.bincount(kb.types.of_entity.values, minlength=len(kb.types.names))
    return [kb.types.names[which] for which in np.argsort(-counts, kind="stable")]


def alike(text: str, names: list[str]) -> list[int]:
    """The places of names that are like a text, the most alike first, and of equals the first; all for an empty one."""
    if not text.strip():
        return [*range(len(names))]
    spelled = [folded(name) for name in names]
    found = process.extract(folded(text), spelled, scorer=fuzz.WRatio, limit=None, score_cutoff=_ALIKE)
    return [which for _, _, which in sorted(found, key=lambda each: (-each[1], each[2]))]


def _property(kb: KnowledgeBase, relation: int) -> Property:
    plain = relation % kb.n_relations
    id_, name = kb.relations.id(plain), kb.relations.name(plain)
    if relation == plain:
        return Property(id_, name, relation)
    return Property(f"{BACKWARDS}{id_}", f"{name} (subjects)", relation, backwards=True)
