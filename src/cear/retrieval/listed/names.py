"""What a file calls entities and relations, as integers; what nothing is called is told all at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from rapidfuzz import process, utils

from cear.core.errors import AmbiguousName, UnknownName
from cear.core.types import NO_ENTITY, Ints, Side
from cear.data import KnowledgeBase, Vocabulary

_SHOWN = 3  # of many that are wrong alike


class Finder:
    """Finds integers in a vocabulary, by id or by name, and remembers what it does not find and where that stood."""

    def __init__(self, vocabulary: Vocabulary, *, by_name: bool) -> None:
        self._vocabulary, self._by_name = vocabulary, by_name
        self._unknown: dict[str, str] = {}
        self._ambiguous: dict[str, str] = {}

    def find(self, text: str, where: str) -> int:
        """The integer of what stands there, `NO_ENTITY` if there is not exactly one."""
        found = self._matches(text)
        if len(found) == 1:
            return found[0]
        (self._ambiguous if found else self._unknown).setdefault(text, where)
        return NO_ENTITY

    def refuse(self) -> None:
        """Raise `AmbiguousName` or `UnknownName` if there was anything that is not one thing."""
        kind = self._vocabulary.kind
        if self._ambiguous:
            text, where = next(iter(self._ambiguous.items()))
            ids = ", ".join(self._vocabulary.id(index) for index in self._vocabulary.named(text)[:_SHOWN])
            raise AmbiguousName(
                f"{where}: the {kind} {text!r} cannot be told from others of that name ({ids}); there are "
                f"{len(self._ambiguous)} such names. Give lists with ids, as JSON lines or as a TREC run, or give the "
                "knowledge base names that differ."
            )
        if self._unknown:
            text, where = next(iter(self._unknown.items()))
            what = "name" if self._by_name else "id"
            raise UnknownName(
                f"{where}: no {kind} has the {what} {text!r}.{self._closest(text)} There are {len(self._unknown)} such "
                f"{what}s: {', '.join([*self._unknown][:_SHOWN])}{' …' if len(self._unknown) > _SHOWN else ''}. "
                "Correct the file, or give the one that was made for this knowledge base."
            )

    def _matches(self, text: str) -> list[int]:
        if self._by_name:
            return self._vocabulary.named(text)
        found = self._vocabulary.by_id.get(text)
        return [] if found is None else [found]

    def _closest(self, text: str) -> str:
        known = self._vocabulary.table["name" if self._by_name else "id"].to_list()
        close = process.extractOne(text, known, processor=utils.default_process, score_cutoff=60)
        return f" The closest is {close[0]!r}." if close else ""


class Names:
    """Queries and entities of a knowledge base, by ids or by names."""

    def __init__(self, kb: KnowledgeBase, *, by_name: bool = False) -> None:
        self._entity, self._relation = (Finder(each, by_name=by_name) for each in (kb.entities, kb.relations))
        self._n_relations = kb.n_relations

    def query(self, side: Side, entity: str, relation: str, where: str) -> tuple[int, int]:
        """The entity of a query and its relation, the reciprocal one if the head is asked for."""
        r = self._relation.find(relation, where)
        reciprocal = side == "head" and r != NO_ENTITY
        return self._entity.find(entity, where), r + self._n_relations if reciprocal else r

    def entities(self, texts: Iterable[str], where: str) -> Ints:
        """The integers of these entities, (entity,)."""
        return np.array([self._entity.find(text, where) for text in texts], np.int64)

    def refuse_unknown(self) -> None:
        """Raise an error if anything was not found."""
        self._relation.refuse()
        self._entity.refuse()


def spelled(kb: KnowledgeBase, entity: int, relation: int) -> str:
    """A query in the user's ids: ⟨s, r, ?⟩ or ⟨?, r, o⟩."""
    id_, r = kb.entities.id(entity), kb.relations.id(relation % kb.n_relations)
    return f"⟨{id_}, {r}, ?⟩" if relation < kb.n_relations else f"⟨?, {r}, {id_}⟩"
