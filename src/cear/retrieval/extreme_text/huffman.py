"""The Huffman tree: frequent labels are near the root, so that training takes the fewest decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from cear.core.compiling import compiled
from cear.core.types import Ints
from cear.retrieval.extreme_text.tree import LabelTree, label_tree


def huffman_tree(counts: Ints, *, arity: int = 2) -> LabelTree:
    """The tree of least mean depth, each label weighted by its count (Huffman 1952); `arity` children a node."""
    order = np.argsort(counts, kind="stable")
    parent = _huffman(counts[order], arity)
    leaf = np.empty(len(counts), np.int64)
    leaf[order] = np.arange(len(counts))
    return label_tree(parent, leaf)


@compiled()
def _huffman(counts: Any, arity: Any) -> Any:  # pragma: no cover - compiled
    """The parent of each node; the leaves come first, in ascending order of their counts.

    New nodes are made in ascending order of their weight too, so the lightest node is always at the head of
    one of two queues, and no heap is needed (van Leeuwen 1976).
    """
    n = len(counts)
    n_nodes = n + (n - 1 + arity - 2) // (arity - 1)
    weight = np.concatenate((counts, np.zeros(n_nodes - n, np.int64)))
    parent = np.full(n_nodes, -1)
    leaf, inner = 0, n
    size = 2 + (n - 2) % (arity - 1)  # the first family is the small one, so that all others are whole
    for node in range(n, n_nodes):
        for _ in range(size):
            if leaf < n and (inner == node or weight[leaf] <= weight[inner]):
                child, leaf = leaf, leaf + 1
            else:
                child, inner = inner, inner + 1
            parent[child] = node
            weight[node] += weight[child]
        size = arity
    return parent
