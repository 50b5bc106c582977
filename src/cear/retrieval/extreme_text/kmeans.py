"""The k-means tree: labels with similar vectors stand together, and every family is balanced."""

from __future__ import annotations

from typing import Any

import numpy as np

from cear.core.compiling import compiled
from cear.core.types import Floats
from cear.retrieval.extreme_text.tree import LabelTree, label_tree

_ROUNDS = 10  # of assigning labels and moving centres; later ones change little


def kmeans_tree(vectors: Floats, *, arity: int = 2) -> LabelTree:
    """The tree that balanced k-means makes of the labels' unit vectors, (label, width) float32, from the top down.

    More than two children are made by halving halves, so that every step is 2-means with a fixed share on each
    side. Nothing is random: the first centres are a label and the one farthest from it.
    """
    parent, leaf = _kmeans(vectors, arity)
    return label_tree(parent, leaf)


@compiled()
def _kmeans(vectors: Any, arity: Any) -> Any:  # pragma: no cover - compiled
    n = len(vectors)
    order, leaf, parent = np.arange(n), np.zeros(n, np.int64), np.full(max(2 * n - 1, 1), -1)
    n_nodes = 1
    waiting = [(0, n, arity, 0)]  # labels order[low:high], to become so many children of a node
    while len(waiting) and n > 1:
        low, high, parts, node = waiting.pop()
        parts = min(parts, high - low)
        if parts > 1:
            middle = low + (high - low) * (parts // 2) // parts
            _split(vectors, order, low, middle, high)
            waiting.append((low, middle, parts // 2, node))
            waiting.append((middle, high, parts - parts // 2, node))
            continue
        child, n_nodes = n_nodes, n_nodes + 1
        parent[child] = node
        if high - low == 1:
            leaf[order[low]] = child
        else:
            waiting.append((low, high, arity, child))
    return parent[:n_nodes], leaf


@compiled()
def _split(vectors: Any, order: Any, low: Any, middle: Any, high: Any) -> None:  # pragma: no cover - compiled
    """Reorder order[low:high] so that 2-means has its one side before `middle` and its other side after."""
    labels = order[low:high].copy()
    first = vectors[labels[0]]
    farthest = np.argmin(_products(vectors, labels, first))
    direction = vectors[labels[farthest]] - first  # from the one centre to the other
    for _ in range(_ROUNDS):
        side = np.argpartition(_products(vectors, labels, direction), middle - low)
        moved = _mean(vectors, labels[side[middle - low :]]) - _mean(vectors, labels[side[: middle - low]])
        order[low:high] = labels[side]
        if np.abs(moved - direction).max() < 1e-6:
            break
        direction = moved


@compiled(fastmath=True)
def _products(vectors: Any, labels: Any, direction: Any) -> Any:  # pragma: no cover - compiled
    products = np.zeros(len(labels), np.float32)
    for i in range(len(labels)):
        for d in range(len(direction)):
            products[i] += vectors[labels[i], d] * direction[d]
    return products


@compiled(fastmath=True)
def _mean(vectors: Any, labels: Any) -> Any:  # pragma: no cover - compiled
    total = np.zeros(vectors.shape[1], np.float32)
    for label in labels:
        for d in range(len(total)):
            total[d] += vectors[label, d]
    return total / np.float32(len(labels))
