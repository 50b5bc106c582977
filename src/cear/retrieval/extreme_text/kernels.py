"""Compiled loops: the vectors of queries, and stochastic gradient descent down the tree.

Shapes: `rows` (query, text) names the texts of a query: its entity, its relation, then frequent answers. `starts` and
`ids` list the features of each text. `features` (feature, dim) and `nodes` (classifier, dim) are what is learned,
`feature_squares` (feature,) and `node_squares` (classifier,) what Adagrad remembers, empty for plain descent.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import numba
import numpy as np

from cear.retrieval.extreme_text.tree import ROOT

_FAST = {"contract", "nsz", "reassoc"}  # reordered sums, but NaN and infinity stay what they are
compiled = numba.njit(fastmath=_FAST, nogil=True, cache=True)
compiled_parallel = numba.njit(fastmath=_FAST, nogil=True, cache=True, parallel=True)

_ROLES = 3  # of a text in a query: entity, relation, frequent answer
_TINY = np.float32(1e-6)


@compiled
def role_of(place):  # pragma: no cover
    """The role of the text at this place of a query."""
    return min(place, _ROLES - 1)


@compiled
def shares_of(texts, starts, out):  # pragma: no cover
    """Put into `out` the weight of a feature of each role: one over how many there are."""
    out[:] = 0
    for place in range(len(texts)):
        out[role_of(place)] += starts[texts[place] + 1] - starts[texts[place]]
    for role in range(_ROLES):
        out[role] = 1 / max(out[role], np.float32(1))


@compiled
def pool(texts, starts, ids, features, shares, out):  # pragma: no cover
    """Put into `out` the vector of a query: for each role the mean of its features' vectors, summed."""
    out[:] = 0
    for place in range(len(texts)):
        share = shares[role_of(place)]
        for j in range(starts[texts[place]], starts[texts[place] + 1]):
            vector = features[ids[j]]
            for d in range(len(out)):
                out[d] += share * vector[d]


@compiled_parallel
def pool_all(rows, starts, ids, features):  # pragma: no cover
    """The vector of each query, (query, dim)."""
    vectors = np.empty((len(rows), features.shape[1]), np.float32)
    for i in numba.prange(len(rows)):
        shares = np.empty(_ROLES, np.float32)
        shares_of(rows[i], starts, shares)
        pool(rows[i], starts, ids, features, shares, vectors[i])
    return vectors


@compiled
def dot(x, y):  # pragma: no cover
    """The dot product."""
    total = np.float32(0)
    for d in range(len(x)):
        total += x[d] * y[d]
    return total


@compiled
def log_sigmoid(z):  # pragma: no cover
    """The logarithm of σ(z), finite for every finite z."""
    return min(z, np.float32(0)) - np.log1p(np.exp(-abs(z)))


@compiled
def adagrad(squares, row, square):  # pragma: no cover
    """What to multiply the learning rate by: 1 / √(Σ |gradient|²) of a vector so far, or 1 if none are kept."""
    if len(squares) == 0:
        return np.float32(1)
    squares[row] += square
    return np.float32(1) / np.sqrt(squares[row] + _TINY)


@compiled
def decide(row, wanted, rate, vector, length, nodes, node_squares, gradient):  # pragma: no cover
    """Teach one classifier whether the answer is there (`wanted` 1 or 0); returns its logistic loss."""
    node = nodes[row]
    z = dot(node, vector)
    error = wanted - np.float32(1) / (np.float32(1) + np.exp(-z))
    step = rate * error * adagrad(node_squares, row, error * error * length)
    for d in range(len(vector)):
        gradient[d] += error * node[d]
        node[d] += step * vector[d]
    return -log_sigmoid(z if wanted else -z)


@compiled
def descend(leaf, rate, tree, vector, nodes, node_squares, gradient):  # pragma: no cover
    """Teach every family on the way from a leaf to the root; `gradient` is left for the features, the loss returned."""
    gradient[:] = 0
    loss, length, child = np.float32(0), dot(vector, vector), leaf
    while child != ROOT:
        node = tree.parent[child]
        place, row, n = child - tree.first[node], tree.row[node], tree.children[node]
        for i in range(n if n > 2 else 1):  # the second of a pair is the mirror image of the first
            wanted = np.float32(i == place)
            loss += decide(row + i, wanted, rate, vector, length, nodes, node_squares, gradient)
        child = node
    return loss


@compiled
def spread(texts, starts, ids, shares, rate, gradient, features, feature_squares):  # pragma: no cover
    """Teach the features of a query."""
    length = dot(gradient, gradient)
    for place in range(len(texts)):
        share = shares[role_of(place)]
        for j in range(starts[texts[place]], starts[texts[place] + 1]):
            step = rate * share * adagrad(feature_squares, ids[j], share * share * length)
            feature = features[ids[j]]
            for d in range(len(gradient)):
                feature[d] += step * gradient[d]


@compiled_parallel
def train(rows, answers, starts, ids, tree, weights, squares, rates, threads):  # pragma: no cover
    """One pass of stochastic gradient descent over these examples; returns the sum of their losses.

    `weights` and `squares` are those of features and of nodes. Threads share them without locks (Hogwild, Niu et al.
    2011). The learning rate falls from `rates[0]` to `rates[1]`.
    """
    (features, nodes), (feature_squares, node_squares) = weights, squares
    n, dim = len(rows), features.shape[1]
    losses = np.zeros(threads)
    for thread in numba.prange(threads):
        vector, gradient = np.empty(dim, np.float32), np.empty(dim, np.float32)
        shares = np.empty(_ROLES, np.float32)
        first, last = thread * n // threads, (thread + 1) * n // threads
        for i in range(first, last):
            rate = np.float32(rates[0] + (rates[1] - rates[0]) * (i - first) / (last - first))
            shares_of(rows[i], starts, shares)
            pool(rows[i], starts, ids, features, shares, vector)
            losses[thread] += descend(tree.leaf[answers[i]], rate, tree, vector, nodes, node_squares, gradient)
            spread(rows[i], starts, ids, shares, rate, gradient, features, feature_squares)
    return losses.sum()
