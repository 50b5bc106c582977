"""What the graph says about a query and a candidate, by looking up counts of training facts.

Everything is counted from the facts that are given, so that a held-out fold is counted without itself.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from cear.candidates import Lists
from cear.core.threads import torch_threads
from cear.core.types import NO_ENTITY, Floats, Ints

NAMES = (
    "degree of the candidate",
    "facts of the relation that it answers",
    "share of the relation's facts that it answers",
    "neighbours shared with the query's entity",
    "the same, rare neighbours counting more",
    "the same, as a share of all their neighbours",
    "degree of the query's entity",
    "known answers of the query",
    "linked to the query's entity by some relation",
)
N_GRAPH = len(NAMES) - 1  # without the last, which folds by pair make say too much

Reals = npt.NDArray[np.float32]


class GraphFeatures:
    """Counts over a set of facts, ready to be looked up for many candidates at a time."""

    def __init__(self, facts: Ints, n_entities: int, n_relations: int) -> None:
        s, r, o = facts.T
        self._n_entities = n_entities
        self._degree = np.bincount(np.concatenate([s, o]), minlength=n_entities)
        self._offsets, self._neighbours = _adjacency(s, o, n_entities)
        # A fact answers two queries: r with its object, and the reciprocal relation with its subject.
        self._answers = _Counts(np.concatenate([r, r + n_relations]), np.concatenate([o, s]), n_entities)
        self._known = _Counts(np.concatenate([r, r + n_relations]), np.concatenate([s, o]), n_entities)
        self._of_relation = np.bincount(np.concatenate([r, r + n_relations]), minlength=2 * n_relations)

    def of(self, lists: Lists) -> Reals:
        """The features of each candidate, (query, candidate, feature), in the order of `NAMES`; 0 where padded."""
        entities, queries = lists.candidates.entities, lists.queries
        real = entities != NO_ENTITY
        safe = np.where(real, entities, 0)
        relation = np.broadcast_to(queries.relation[:, None], entities.shape)
        shared, rare, linked = self._together(queries.entity, safe)
        sizes = np.diff(self._offsets)
        union = sizes[queries.entity][:, None] + sizes[safe] - shared
        answered = self._answers.of(relation, safe)
        columns = [
            np.log1p(self._degree[safe]),
            np.log1p(answered),
            answered / np.maximum(self._of_relation[relation], 1),
            np.log1p(shared),
            rare,
            shared / np.maximum(union, 1),
            np.broadcast_to(np.log1p(self._degree[queries.entity])[:, None], entities.shape),
            np.broadcast_to(np.log1p(self._known.of(queries.relation, queries.entity))[:, None], entities.shape),
            linked,
        ]
        features = np.stack([np.asarray(column, np.float32) for column in columns], axis=-1)
        return np.where(real[..., None], features, np.float32(0))

    def _together(self, subjects: Ints, entities: Ints) -> tuple[Reals, Reals, Reals]:
        """Shared neighbours, the same weighed by rarity, and whether the two are linked, (query, candidate) each."""
        out = np.zeros((3, *entities.shape), np.float32)
        with torch_threads():
            _count_shared(self._offsets, self._neighbours, subjects, entities, out)
        return out[0], out[1], out[2]


class _Counts:
    """How often each (relation, entity) occurs, by binary search."""

    def __init__(self, relation: Ints, entity: Ints, n_entities: int) -> None:
        self._n_entities = n_entities
        self._keys, self._counts = np.unique(relation * n_entities + entity, return_counts=True)

    def of(self, relation: Ints, entity: Ints) -> Floats:
        if not len(self._keys):
            return np.zeros(np.broadcast(relation, entity).shape, np.float32)
        key = relation * self._n_entities + entity
        place = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        return np.where(self._keys[place] == key, self._counts[place], 0).astype(np.float32)


def _adjacency(s: Ints, o: Ints, n_entities: int) -> tuple[Ints, Ints]:
    """Each entity's distinct neighbours, whichever way a fact points: offsets and ascending neighbours."""
    pairs = np.unique(np.concatenate([s * n_entities + o, o * n_entities + s]))
    left, right = pairs // n_entities, pairs % n_entities
    offsets = np.concatenate([[0], np.cumsum(np.bincount(left, minlength=n_entities))]).astype(np.int64)
    return offsets, right


@numba.njit(parallel=True, cache=True)
def _count_shared(offsets: Any, neighbours: Any, subjects: Any, entities: Any, out: Any) -> None:  # pragma: no cover
    n = len(offsets) - 1
    for i in numba.prange(len(subjects)):
        near = np.zeros(n, np.bool_)
        s = subjects[i]
        for place in range(offsets[s], offsets[s + 1]):
            near[neighbours[place]] = True
        for j in range(entities.shape[1]):
            c = entities[i, j]
            out[2, i, j] = near[c]
            for place in range(offsets[c], offsets[c + 1]):
                z = neighbours[place]
                if near[z]:
                    out[0, i, j] += 1
                    out[1, i, j] += 1 / np.log(1.0 + offsets[z + 1] - offsets[z])
