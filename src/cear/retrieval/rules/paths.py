"""The simple paths between two entities by given relations, found from both ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cear.core.types import Ints
from cear.retrieval.rules.graph import Graph

Path = tuple[int, ...]  # relations, in [0, 2R)


class PathsBetween:
    """Paths from a start to an end. What many paths have in common is walked once."""

    def __init__(self, graph: Graph, start: int, end: int) -> None:
        self._graph, self._start, self._end = graph, start, end
        self._reached: dict[tuple[int, Path], Ints] = {}

    def along(self, path: Path) -> Iterator[tuple[int, ...]]:
        """The entities between start and end on every path by these relations on which none stands twice."""
        half = len(path) // 2
        here, there = self._reach(self._start, path[:half]), self._before_end(path[half:])
        if len(here) and len(there) and len(_common(here, there)):
            for nodes in self._walk((self._start,), path):
                yield nodes[1:]

    def _walk(self, nodes: tuple[int, ...], path: Path) -> Iterator[tuple[int, ...]]:
        """These nodes and those that come before the end, by these relations; only ways that lead there are taken."""
        if len(path) == 1:
            if self._end not in nodes and nodes[-1] in self._before_end(path):
                yield nodes
            return
        onward = _common(self._reach(nodes[-1], path[:1]), self._before_end(path[1:]))
        for node in onward.tolist():
            if node not in nodes and node != self._end:
                yield from self._walk((*nodes, node), path[1:])

    def _before_end(self, path: Path) -> Ints:
        """The entities from which these relations lead to the end, ascending."""
        return self._reach(self._end, tuple(self._graph.reciprocal(step) for step in reversed(path)))

    def _reach(self, start: int, path: Path) -> Ints:
        """The entities that these relations lead to, ascending; one may be come by twice."""
        if not path:
            return np.array([start])
        if (start, path) not in self._reached:
            self._reached[start, path] = self._graph.step(self._reach(start, path[:-1]), path[-1])
        return self._reached[start, path]


def _common(one: Ints, other: Ints) -> Ints:
    """What is in both, ascending; each is ascending and has nothing twice."""
    few, many = sorted((one, other), key=len)
    place = np.minimum(np.searchsorted(many, few), len(many) - 1)
    return few[many[place] == few] if len(few) else few
