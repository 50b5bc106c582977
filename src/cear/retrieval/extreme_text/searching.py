"""Compiled loops: the best labels of a query by a best-first search, and the probabilities of all of them."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import heapq

import numba
import numpy as np

from cear.retrieval.extreme_text.kernels import bag, fast, fast_parallel, log_sigmoid, logit, pool, slot
from cear.retrieval.extreme_text.tree import NO_LABEL, ROOT


@fast_parallel
def pool_all(rows, texts, features):  # pragma: no cover
    """The vector of each query, (query, dim)."""
    vectors = np.empty((len(rows), features.shape[1]), np.float32)
    for i in numba.prange(len(rows)):
        ids, shares = bag(rows[i], texts)
        pool(ids, shares, features, vectors[i])
    return vectors


@fast
def best_first(rows, texts, tree, weights, closed, known, entities, scores):  # pragma: no cover
    """Fill `entities` with the most probable labels, those in `known` (ascending) left out, and `scores` with log P.

    P only falls on the way down, so a leaf that is the best of all open nodes is the best of all leaves left. Of equal
    leaves the one with the lower node is first. What is below the nodes that are `closed`, (node,) or the first of
    them, is not looked at.
    """
    ids, shares = bag(rows, texts)
    vector = np.empty(weights.features.shape[1], np.float32)
    pool(ids, shares, weights.features, vector)
    open_nodes = [(np.float32(0), ROOT)]  # (-log P, node)
    found = 0
    while len(open_nodes) and found < len(entities):
        cost, node = heapq.heappop(open_nodes)
        label = tree.label[node]
        if label == NO_LABEL:
            first, row, n = tree.first[node], tree.row[node], tree.children[node]
            for i in range(n if n > 2 else 1):
                z = logit(row + i, vector, ids, shares, weights)
                if is_open(first + i, closed):
                    heapq.heappush(open_nodes, (cost - log_sigmoid(z), first + i))
            if n == 2 and is_open(first + 1, closed):
                heapq.heappush(open_nodes, (cost - log_sigmoid(-z), first + 1))
        elif not stands_in(label, known):
            entities[found], scores[found] = label, -cost
            found += 1


@fast
def is_open(node, closed):  # pragma: no cover
    """Whether a search may go below a node."""
    return node >= len(closed) or not closed[node]


@fast
def stands_in(label, known):  # pragma: no cover
    """Whether a label is one of these, (label,) ascending."""
    place = np.searchsorted(known, label)
    return place < len(known) and known[place] == label


@fast_parallel
def search(rows, texts, tree, weights, closed, known_starts, known, entities, scores):  # pragma: no cover
    """The best labels of each query into `entities` and `scores`, (query, k)."""
    for i in numba.prange(len(rows)):
        drop = known[known_starts[i] : known_starts[i + 1]]
        best_first(rows[i], texts, tree, weights, closed, drop, entities[i], scores[i])


@fast_parallel
def score_labels(rows, texts, tree, weights, labels, scores):  # pragma: no cover
    """Fill `scores` with log P of the labels in each query's row, (query, label), added up from the root as above."""
    for i in numba.prange(len(rows)):
        ids, shares = bag(rows[i], texts)
        vector = np.empty(weights.features.shape[1], np.float32)
        pool(ids, shares, weights.features, vector)
        path = np.empty(64, np.int64)
        for j in range(labels.shape[1]):
            node, depth = tree.leaf[labels[i, j]], 0
            while node != ROOT:
                if depth == len(path):
                    path = np.concatenate((path, np.empty_like(path)))
                path[depth] = node
                node, depth = tree.parent[node], depth + 1
            cost = np.float32(0)
            for step in range(depth - 1, -1, -1):
                parent = tree.parent[path[step]]
                place, pair = path[step] - tree.first[parent], tree.children[parent] == 2
                z = logit(tree.row[parent] + (0 if pair else place), vector, ids, shares, weights)
                cost = cost - log_sigmoid(-z if pair and place else z)
            scores[i, j] = -cost


@fast_parallel
def add_pairs(rows, texts, pairs, logits):  # pragma: no cover
    """Add to w · vector of every classifier, (query, classifier), what it says of the features themselves."""
    for i in numba.prange(len(rows)):
        ids, shares = bag(rows[i], texts)
        for j in range(len(ids)):
            for row in range(logits.shape[1]):
                logits[i, row] += shares[j] * pairs[slot(ids[j], row, pairs)]


@fast_parallel
def log_probabilities(logits, tree):  # pragma: no cover
    """The log-probability of every label from what the classifiers say: (query, classifier) -> (query, label)."""
    scores = np.empty((len(logits), len(tree.leaf)), np.float32)
    for i in numba.prange(len(logits)):
        reached = np.zeros(len(tree.parent), np.float32)  # log P of each node
        for child in range(1, len(tree.parent)):
            node = tree.parent[child]
            place = child - tree.first[node]
            pair = tree.children[node] == 2
            z = logits[i, tree.row[node] + (0 if pair else place)]
            reached[child] = reached[node] + log_sigmoid(-z if pair and place else z)
        for label in range(len(tree.leaf)):
            scores[i, label] = reached[tree.leaf[label]]
    return scores
