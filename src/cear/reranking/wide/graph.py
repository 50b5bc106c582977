"""What the graph says about a query and a candidate, by looking up counts of training facts.

Everything is counted from the facts that are given, so that a held-out fold is counted without itself.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from cear.candidates import Lists
from cear.core.devices import runs_kernels
from cear.core.types import NO_ENTITY, Floats, Ints, Ragged
from cear.reranking.wide.shared import Reals, SharedOnDevice, count_shared

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
ANSWERED = (1, 2)  # places in `NAMES`: they show whose fact of the relation was taken out
LINKED = (8,)  # folds by pair make it say too much


class GraphFeatures:
    """Counts over a set of facts, ready to be looked up for many candidates at a time."""

    def __init__(self, facts: Ints, n_entities: int, n_relations: int, *, device: torch.device | str = "cpu") -> None:
        """`device` is where neighbours are compared, which is most of the work."""
        s, r, o = facts.T
        self._degree = np.bincount(np.concatenate([s, o]), minlength=n_entities)
        near = _adjacency(s, o, n_entities)
        self._sizes = near.counts
        compiled = runs_kernels(torch.device(device))
        self._shared = partial(count_shared, near) if compiled else SharedOnDevice(near, device)
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
        shared, rare, linked = self._shared(queries.entity, safe)
        union = self._sizes[queries.entity][:, None] + self._sizes[safe] - shared
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


def _adjacency(s: Ints, o: Ints, n_entities: int) -> Ragged:
    """Each entity's distinct neighbours, whichever way a fact points, ascending."""
    pairs = np.unique(np.concatenate([s * n_entities + o, o * n_entities + s]))
    return Ragged.grouped(pairs // n_entities, pairs % n_entities, n_entities)
