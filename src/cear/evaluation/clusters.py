"""Clusters of mentions in the place of entities: the protocol of CaRe (Gupta, Kenkre and Talukdar 2019).

There a wrong thing that has three names before the gold counts once, not three times. So a cluster stands where its
best mention stands, and the rank of a gold is one plus the number of clusters that stand before its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cear.core.errors import DataError
from cear.core.types import NO_ENTITY, Bools, Floats, Ints, Ragged
from cear.data import KnowledgeBase, KnownAnswers


@dataclass(frozen=True, eq=False)
class EntityClusters:
    """Which entities are mentions of one thing; every entity is in one cluster, alone or with others."""

    first: Ints  # (entity,), the least entity of its cluster

    @classmethod
    def of(cls, kb: KnowledgeBase) -> EntityClusters:
        """The things of a knowledge base as clusters; an entity that is no mention of a thing is alone."""
        first = np.arange(kb.n_entities)
        if kb.mentions is not None:
            members = kb.mentions.members
            _refuse_shared(kb, members)
            first[members.values] = members.values[members.offsets[members.rows]]
        return cls(first)

    @cached_property
    def members(self) -> Ragged:
        """The mentions of each cluster, ascending, in the row of its first; other rows are empty."""
        return Ragged.grouped(self.first, np.arange(len(self.first)), len(self.first))

    def mentions(self, entities: Ints) -> Ragged:
        """All mentions of each entity's cluster, itself among them."""
        return self.members.take(self.first[entities])

    def with_mentions(self, known: KnownAnswers) -> KnownAnswers:
        """The known answers, each with all other mentions of its cluster."""
        queries, answers, n_entities = known.queries, known.answers, len(self.first)
        mentions = self.mentions(answers.values)
        key = (queries.relation * n_entities + queries.entity)[answers.rows]
        return KnownAnswers.of_pairs([(np.repeat(key, mentions.counts), mentions.values)], n_entities)

    def best(self, scores: Floats) -> Floats:
        """The score of each cluster's best mention in the column of its first, (query, entity); -inf in the others.

        So whoever counts entities in it counts clusters.
        """
        several = self.members.take(np.flatnonzero(self.members.counts > 1))
        best = scores.copy()
        if len(several):
            starts = several.offsets[:-1]
            best[:, several.values] = -np.inf
            best[:, several.values[starts]] = np.maximum.reduceat(scores[:, several.values], starts, axis=1)
        return best

    def firsts(self, entities: Ints) -> Ints:
        """The first mention of the cluster of each listed entity, (query, candidate); pads stay pads."""
        return np.where(entities == NO_ENTITY, NO_ENTITY, self.first[np.maximum(entities, 0)])

    def leads(self, entities: Ints, scores: Floats) -> Bools:
        """Which listed entities stand for their cluster, (query, candidate): the best of each list, one of equals."""
        cluster = self.firsts(entities)
        order = np.lexsort((-scores, cluster))  # in each row by cluster, the best mention of a cluster first
        ordered = np.take_along_axis(cluster, order, axis=1)
        changes = np.diff(ordered, axis=1, prepend=NO_ENTITY - 1) != 0
        leads = np.empty(entities.shape, np.bool_)
        np.put_along_axis(leads, order, changes, axis=1)
        return leads


@dataclass(frozen=True, eq=False)
class ByCluster:
    """A filter under which clusters are ranked, not entities."""

    clusters: EntityClusters
    known: KnownAnswers
    """What it removes, with all mentions."""


Filter = KnownAnswers | ByCluster | None  # None removes nothing


def ranked_clusters(filters: Mapping[str, Filter]) -> EntityClusters | None:
    """The clusters that one of these filters ranks; None where all rank entities."""
    return next((each.clusters for each in filters.values() if isinstance(each, ByCluster)), None)


def _refuse_shared(kb: KnowledgeBase, members: Ragged) -> None:
    """Refuse things that share a mention: they are no clusters."""
    times = np.bincount(members.values, minlength=1)
    if times.max() > 1:
        shared = int(times.argmax())
        raise DataError(
            f"{kb.entities.name(shared)!r} is a mention of {times[shared]} things of {kb.name!r}, and CaRe's protocol "
            "needs each entity in one cluster. Evaluate with protocol 'ours', which asks what each fact means by it."
        )
