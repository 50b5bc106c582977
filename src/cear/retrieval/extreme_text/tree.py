"""The label tree as arrays: every label is a leaf, and a label's probability is a product along its path."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cear.core.compiling import compiled
from cear.core.types import Ints

ROOT = 0
NO_LABEL = -1


class LabelTree(NamedTuple):
    """A tree whose leaves are the labels. Nodes are numbered level by level from the root, siblings in a row.

    Each node but the root has a classifier: is the answer below it, given that it is below its parent? Two
    siblings that are alone need one between them, for what one gains the other loses; so `row` counts one
    classifier for a pair and one a child for larger families.
    """

    parent: Ints  # (node,), -1 for the root
    first: Ints  # (node,), the first child
    children: Ints  # (node,), how many; 0 for a leaf
    row: Ints  # (node,), the row of the first child's classifier
    label: Ints  # (node,), NO_LABEL inside
    leaf: Ints  # (label,), the node of each label

    @property
    def n_labels(self) -> int:
        """The number of labels, all of them leaves."""
        return len(self.leaf)

    @property
    def n_rows(self) -> int:
        """The number of classifiers."""
        return int(classifiers(self.children).sum())

    def depths(self) -> Ints:
        """The number of decisions on the way to each label, (label,)."""
        depths: Ints = _depths(self.parent)[self.leaf]
        return depths

    def levels(self) -> list[slice]:
        """The nodes that are 1, 2, … decisions below the root: each level's numbers stand in a row."""
        depths = _depths(self.parent)
        starts = np.searchsorted(depths, np.arange(1, depths[-1] + 2)).tolist()
        return [slice(*level) for level in pairwise(starts)]


def classifiers(children: Ints) -> Ints:
    """The number of classifiers that families of these sizes need: one for a pair."""
    return np.where(children == 2, 1, children)


def label_tree(parent: Ints, leaf: Ints) -> LabelTree:
    """The tree in which `parent` is each node's parent (-1: the root) and `leaf` each label's node, renumbered."""
    number = _level_order(parent)  # (node,), the new number of each node
    new_parent = np.empty_like(parent)
    new_parent[number] = np.where(parent < 0, -1, number[parent])
    children = np.bincount(new_parent[1:], minlength=len(parent))
    rows = classifiers(children)
    first = 1 + np.cumsum(children) - children
    label = np.full(len(parent), NO_LABEL)
    label[number[leaf]] = np.arange(len(leaf))
    return LabelTree(new_parent, first, children, np.cumsum(rows) - rows, label, number[leaf])


@compiled()
def _level_order(parent: Any) -> Any:  # pragma: no cover - compiled
    """The number of each node when nodes are visited level by level, siblings one after the other."""
    n = len(parent)
    start = np.zeros(n + 1, np.int64)
    for node in range(n):
        start[parent[node] + 1] += 1  # the root is the only child of "node -1"
    start = np.cumsum(start)
    siblings = np.empty(n, np.int64)
    place = np.concatenate((np.zeros(1, np.int64), start[:-1]))
    for node in range(n):
        siblings[place[parent[node] + 1]] = node
        place[parent[node] + 1] += 1
    number, visited = np.empty(n, np.int64), np.empty(n, np.int64)
    visited[0], reached = siblings[0], 1
    for i in range(n):
        node = visited[i]
        number[node] = i
        for child in siblings[start[node] : start[node + 1]]:
            visited[reached] = child
            reached += 1
    return number


@compiled()
def _depths(parent: Any) -> Any:  # pragma: no cover - compiled
    depth = np.zeros(len(parent), np.int64)
    for node in range(1, len(parent)):  # a parent comes before its children
        depth[node] = depth[parent[node]] + 1
    return depth
