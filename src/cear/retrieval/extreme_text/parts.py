"""A label tree in parts: whole subtrees each, searched apart, the lists merged.

Every part walks from the root through the few nodes above its subtrees, so a label has the probability that it has in
the whole tree, to the last bit. It looks at the weights of its own subtrees and of the nodes above them. The others,
mapped from the file, are never read.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from cear.core.compiling import compiled
from cear.core.errors import ConfigError
from cear.core.reading import reading
from cear.core.tensors import map_tensors
from cear.core.types import Bools, Candidates, Ints, Ragged
from cear.retrieval.extreme_text.side import QueryTexts, SideModel
from cear.retrieval.extreme_text.tree import ROOT, LabelTree
from cear.retrieval.parts import Pending, merged

_PIECES = 8  # subtrees of a part at least, so that parts are about equal


def closed_nodes(tree: LabelTree, n_parts: int) -> list[Bools]:
    """For each part the nodes that belong to others, (node,) up to the last of them; parts have about as many labels.

    A tree with few labels has fewer parts.
    """
    sizes, pieces = _leaves_below(tree.parent, tree.label), _subtrees(tree, _PIECES * n_parts)
    parts: list[list[int]] = [[] for _ in range(min(n_parts, len(pieces)))]
    room = [(0, number) for number in range(len(parts))]  # labels so far
    for piece in sorted(pieces, key=lambda node: (-sizes[node], node)):
        labels, number = heapq.heappop(room)
        parts[number].append(piece)
        heapq.heappush(room, (labels + int(sizes[piece]), number))
    return [_all_but(pieces, mine) for mine in parts]


def _subtrees(tree: LabelTree, wanted: int) -> list[int]:
    """The roots of at least so many subtrees that have all labels, if there are as many: the largest is cut again."""
    sizes = _leaves_below(tree.parent, tree.label)
    largest = [(-int(sizes[ROOT]), ROOT)]
    while len(largest) < wanted and tree.children[largest[0][1]]:
        _, node = heapq.heappop(largest)
        for child in range(tree.first[node], tree.first[node] + tree.children[node]):
            heapq.heappush(largest, (-int(sizes[child]), child))
    return [node for _, node in largest]


def _all_but(pieces: Sequence[int], mine: Sequence[int]) -> Bools:
    closed = np.zeros(max(pieces) + 1, bool)
    closed[list(pieces)] = True
    closed[list(mine)] = False
    return closed


@compiled()
def _leaves_below(parent: Any, label: Any) -> Any:  # pragma: no cover - compiled
    """The number of labels below each node, (node,); a leaf has itself."""
    counts = (label >= 0).astype(np.int64)
    for node in range(len(parent) - 1, 0, -1):  # a parent comes before its children
        counts[parent[node]] += counts[node]
    return counts


class Part(Protocol):
    """Whoever has a part of a tree, here or elsewhere."""

    def ask(self, entity: Ints, relation: Ints, k: int, known: Ragged) -> Pending:
        """Begin to find the k most probable labels of the part for each query, but those known."""


@dataclass(frozen=True, eq=False)
class SidePart:
    """Some subtrees of the tree of one side."""

    model: SideModel
    closed: Bools  # (node,), or the first of them: where other parts go on

    @classmethod
    def mapped(cls, path: Path, number: int, n_parts: int) -> SidePart:
        """The part of this number of a tree in a file, mapped into memory: what is not looked at is not read."""
        model = map_side(path)
        closed = closed_nodes(model.tree, n_parts)
        if number >= len(closed):
            raise ConfigError(f"{path} has no part {number}: its tree falls into {len(closed)} parts.")
        return cls(model, closed[number])

    def ask(self, entity: Ints, relation: Ints, k: int, known: Ragged) -> Pending:
        """Find them now."""
        found = self.best(entity, relation, k, known)
        return lambda: found

    def best(self, entity: Ints, relation: Ints, k: int, known: Ragged) -> Candidates:
        """The k most probable labels of these subtrees for each query, but those known."""
        return self.model.top_k(entity, relation, k, known, self.closed)


@dataclass(frozen=True, eq=False)
class SideInParts:
    """The model of one side that leaves the search to parts; given labels are scored along their paths, mapped."""

    model: SideModel
    parts: Sequence[Part]

    @property
    def texts(self) -> QueryTexts:
        """The texts of queries."""
        return self.model.texts

    @property
    def tree(self) -> LabelTree:
        """The whole tree."""
        return self.model.tree

    def score_all(self, entity: Ints, relation: Ints) -> Tensor:
        """The log-probability of every entity as the answer, (query, entity)."""
        return self.model.score_all(entity, relation)

    def score_labels(self, entity: Ints, relation: Ints, labels: Ints) -> Tensor:
        """The log-probability of the labels in each query's row, (query, label)."""
        return self.model.score_labels(entity, relation, labels)

    def top_k(self, entity: Ints, relation: Ints, k: int, known: Ragged) -> Candidates:
        """The k most probable answers of each query but those known, exactly as one tree gives them."""
        asked = [part.ask(entity, relation, k, known) for part in self.parts]
        return merged([each() for each in asked], k, self.tree.leaf)


def map_side(path: Path) -> SideModel:
    """The model of a side in a file, mapped into memory; its sum is not compared, which would read all of it."""
    tensors = map_tensors(path)
    with reading(path):
        return SideModel.from_tensors(tensors)
