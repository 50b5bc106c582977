"""Lists of distinct queries, each as long as it is, best first; checked as they are gathered, and kept in one file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from cear.core.errors import DataError
from cear.core.reading import reading
from cear.core.tensors import read_tensors, write_tensors
from cear.core.types import NO_ENTITY, Floats, Ints, Queries, Ragged
from cear.data import KnowledgeBase
from cear.retrieval.listed.entries import Entry
from cear.retrieval.listed.names import spelled


@dataclass(frozen=True, eq=False)
class Rankings:
    """What was listed for each of some distinct queries."""

    queries: Queries
    """Ascending by relation, then by entity."""
    entities: Ragged
    """Best first."""
    scores: Floats
    """Of each of `entities.values`, (value,), in double precision: no two scores of a file become one."""

    def __len__(self) -> int:
        return len(self.queries)

    def rows(self, queries: Queries, n_entities: int) -> Ints:
        """The place of each query's list, (query,); -1 where it has none."""
        listed, asked = (each.relation * n_entities + each.entity for each in (self.queries, queries))
        place = np.searchsorted(listed, asked)
        return np.where(np.append(listed, -1)[place] == asked, place, -1)

    def write(self, path: Path, about: dict[str, str]) -> None:
        """Write them and what is said about them, atomically."""
        arrays = {
            "entity": self.queries.entity,
            "relation": self.queries.relation,
            "offsets": self.entities.offsets,
            "entities": self.entities.values.astype(np.int32),
            "scores": self.scores,
        }
        write_tensors(path, {name: torch.from_numpy(array) for name, array in arrays.items()}, about)

    @classmethod
    def read(cls, path: Path) -> tuple[Rankings, dict[str, str]]:
        """What `write` wrote: the lists, and what was said about them."""
        tensors, about = read_tensors(path)
        with reading(path):
            arrays = {name: each.numpy() for name, each in tensors.items()}
            entities = Ragged(arrays["offsets"], arrays["entities"].astype(np.int64))
            return cls(Queries(arrays["entity"], arrays["relation"]), entities, arrays["scores"]), about


class Gathering:
    """Takes the lists of a file one after the other, refuses those that cannot be, and puts the others together."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._entries: dict[tuple[int, int], Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: Entry) -> None:
        """Take a list; entities and relations that are unknown are somebody else's to refuse."""
        query = entry.entity, entry.relation
        if NO_ENTITY not in query and query in self._entries:
            raise DataError(
                f"{entry.where}: the query {spelled(self._kb, *query)} stands twice, first in "
                f"{self._entries[query].where}. A query has one list: put its lines together, or take one list away."
            )
        self._refuse_scores(entry)
        self._refuse_twice(entry)
        self._entries[query] = entry

    def join(self, other: Gathering) -> None:
        """Take the lists of another file: a query that both have gets what both list."""
        for query, entry in other._entries.items():
            there = self._entries.get(query)
            self._entries[query] = entry if there is None else there.with_more(entry)

    def rankings(self) -> Rankings:
        """All of them, best first."""
        ordered = sorted(self._entries.values(), key=lambda each: (each.relation, each.entity))
        places = [np.argsort(-each.scores, kind="stable") for each in ordered]
        queries = np.array([(each.entity, each.relation) for each in ordered], np.int64).reshape(-1, 2)
        counts = np.array([len(each.entities) for each in ordered], np.int64)
        lists = [*zip(ordered, places, strict=True)]
        values = np.concatenate([np.zeros(0, np.int64), *(each.entities[place] for each, place in lists)])
        scores = np.concatenate([np.zeros(0), *(each.scores[place] for each, place in lists)])
        return Rankings(Queries(*queries.T.copy()), Ragged.of_counts(counts, values), scores)

    def _refuse_scores(self, entry: Entry) -> None:
        bad = np.flatnonzero(~np.isfinite(entry.scores))
        if len(bad):
            raise DataError(
                f"{entry.where}: the score {entry.scores[bad[0]]} of {self._name(entry, int(bad[0]))} is not finite "
                f"({len(bad)} such scores in this list). Give numbers that can be ranked."
            )

    def _refuse_twice(self, entry: Entry) -> None:
        known = entry.entities[entry.entities != NO_ENTITY]
        if len(np.unique(known)) < len(known):
            values, counts = np.unique(known, return_counts=True)
            twice = self._kb.entities.id(int(values[counts > 1][0]))
            raise DataError(
                f"{entry.where}: the entity {twice!r} stands twice in one list ({int((counts > 1).sum())} such "
                "entities). Keep the better of its scores."
            )

    def _name(self, entry: Entry, place: int) -> str:
        entity = int(entry.entities[place])
        return "an unknown entity" if entity == NO_ENTITY else repr(self._kb.entities.id(entity))
