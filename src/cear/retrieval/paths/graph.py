"""The facts as messages see them: for every entity, who reaches it by which relation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cear.core.types import Ints, Ragged
from cear.retrieval.paths.kernels import walk


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Facts in both directions, grouped by the entity that they lead to.

    An edge that leads from x to u by relation w leads back from u to x by the reciprocal of w. So the row of an entity
    tells whom it is reached from, and whom it reaches.
    """

    n_relations: int
    sources: Ragged  # a row per entity: who reaches it
    by: Ints  # (edge,), the relation of each of `sources`, in [0, 2R)

    @classmethod
    def of(cls, facts: Ints, n_entities: int, n_relations: int) -> Graph:
        """The graph of these facts."""
        source = np.concatenate([facts[:, 0], facts[:, 2]])
        relation = np.concatenate([facts[:, 1], facts[:, 1] + n_relations])
        target = np.concatenate([facts[:, 2], facts[:, 0]])
        order = np.lexsort((relation, source, target))
        return cls(n_relations, Ragged.grouped(target[order], source[order], n_entities), relation[order])

    @property
    def n_entities(self) -> int:
        """The number of entities."""
        return len(self.sources)

    def around(self, entity: int, steps: int) -> Reach:
        """Whom messages from an entity reach in so many steps."""
        place, nodes, ends = walk(entity, steps, self.sources.offsets, self.sources.values)
        return Reach(self, place, nodes, ends)


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """The entities around one, the nearest first: those within l steps are the first `ends[l]`."""

    graph: Graph
    place: Ints  # (entity,), where each stands in `nodes`; -1 for who is not reached
    nodes: Ints  # (node,)
    ends: Ints  # (step + 1,), the first is 1

    def edges(self, step: int) -> tuple[Ints, Ints, Ints]:
        """The edges of a step, from places to places: (source, relation, target), each (edge,)."""
        sources, nodes = self.graph.sources, self.nodes[: self.ends[step]]
        rows = sources.take(nodes)
        by = Ragged(sources.offsets, self.graph.by).take(nodes).values
        source = self.place[rows.values]
        there = (source >= 0) & (source < self.ends[step - 1])
        return source[there], by[there], rows.rows[there]

    def degrees(self, step: int) -> Ints:
        """The number of edges that lead to each entity within so many steps, (node,)."""
        return self.graph.sources.counts[self.nodes[: self.ends[step]]]
