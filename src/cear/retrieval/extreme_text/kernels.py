"""Compiled loops: queries as bags of features, and stochastic gradient descent down the tree.

`rows` (query, text) names the texts of each query: its entity, its relation, then frequent answers.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from cear.core.compiling import compiled
from cear.core.types import Floats, Ints
from cear.retrieval.extreme_text.tree import ROOT

ROLES = 3  # of a text in a query: entity, relation, frequent answer

_FAST = {"contract", "nsz", "reassoc"}  # reordered sums, but NaN and infinity stay what they are
fast = compiled(fastmath=_FAST, nogil=True)
fast_parallel = compiled(fastmath=_FAST, nogil=True, parallel=True)

SALT = 0x9E3779B1 * 31  # odd: the features' places in `pairs` are as far apart as can be
_TINY = np.float32(1e-6)


class Texts(NamedTuple):
    """The features of every text, and what a role counts in a query."""

    starts: Ints  # (text + 1,)
    ids: Ints  # (feature of a text,)
    role_weights: Floats  # (role,)


class Weights(NamedTuple):
    """What is learned; or, one number for each of its vectors, what Adagrad remembers (empty for plain descent)."""

    features: Any  # (feature, dim)
    nodes: Any  # (classifier, dim)
    pairs: Any  # (slot,), hashed weights of (feature, classifier); a power of two, or none


@fast
def bag(rows, texts):  # pragma: no cover
    """The features of a query and their weights: those of a role share its weight."""
    counts = np.zeros(ROLES, np.int64)
    for place in range(len(rows)):
        counts[min(place, ROLES - 1)] += texts.starts[rows[place] + 1] - texts.starts[rows[place]]
    ids, shares = np.empty(counts.sum(), np.int64), np.empty(counts.sum(), np.float32)
    n = 0
    for place in range(len(rows)):
        role = min(place, ROLES - 1)
        for j in range(texts.starts[rows[place]], texts.starts[rows[place] + 1]):
            ids[n], shares[n] = texts.ids[j], texts.role_weights[role] / counts[role]
            n += 1
    return ids, shares


@fast
def pool(ids, shares, features, out):  # pragma: no cover
    """Put the weighted sum of the vectors of a bag into `out`."""
    out[:] = 0
    for j in range(len(ids)):
        vector, share = features[ids[j]], shares[j]
        for d in range(len(out)):
            out[d] += share * vector[d]


@fast
def dot(x, y):  # pragma: no cover
    """The dot product."""
    total = np.float32(0)
    for d in range(len(x)):
        total += x[d] * y[d]
    return total


@fast
def slot(feature, row, pairs):  # pragma: no cover
    """Where the weight of a feature for a classifier is: the first classifiers of a feature stand together."""
    return ((feature + 1) * SALT + row) & (len(pairs) - 1)


@fast
def logit(row, vector, ids, shares, weights):  # pragma: no cover
    """What a classifier says of a query: w · vector + Σ share · weight of (feature, classifier)."""
    z = dot(weights.nodes[row], vector)
    if len(weights.pairs):
        for j in range(len(ids)):
            z += shares[j] * weights.pairs[slot(ids[j], row, weights.pairs)]
    return z


@fast
def log_sigmoid(z):  # pragma: no cover
    """The logarithm of σ(z), finite for every finite z."""
    return min(z, np.float32(0)) - np.log1p(np.exp(-abs(z)))


@fast
def adagrad(squares, place, square):  # pragma: no cover
    """What to multiply the learning rate by: 1 / √(Σ |gradient|²) so far, or 1 if none are kept."""
    if len(squares) == 0:
        return np.float32(1)
    squares[place] += square
    return np.float32(1) / np.sqrt(squares[place] + _TINY)


@fast
def decide(row, wanted, rate, vector, ids, shares, weights, squares, gradient):  # pragma: no cover
    """Teach one classifier whether the answer is there (`wanted` 1 or 0); returns its logistic loss."""
    node, pairs = weights.nodes[row], weights.pairs
    z = logit(row, vector, ids, shares, weights)
    error = wanted - np.float32(1) / (np.float32(1) + np.exp(-z))
    step = rate * error * adagrad(squares.nodes, row, error * error * dot(vector, vector))
    for d in range(len(vector)):
        gradient[d] += error * node[d]
        node[d] += step * vector[d]
    if len(pairs):
        for j in range(len(ids)):
            place, slope = slot(ids[j], row, pairs), error * shares[j]
            pairs[place] += rate * slope * adagrad(squares.pairs, place, slope * slope)
    return -log_sigmoid(z if wanted else -z)


@fast
def descend(leaf, rate, tree, vector, ids, shares, weights, squares, gradient):  # pragma: no cover
    """Teach every family on the way from a leaf to the root; leaves the features' `gradient`, returns the loss."""
    gradient[:] = 0
    loss, child = np.float32(0), leaf
    while child != ROOT:
        node = tree.parent[child]
        place, row, n = child - tree.first[node], tree.row[node], tree.children[node]
        for i in range(n if n > 2 else 1):  # the second of a pair is the mirror image of the first
            wanted = np.float32(i == place)
            loss += decide(row + i, wanted, rate, vector, ids, shares, weights, squares, gradient)
        child = node
    return loss


@fast
def spread(ids, shares, rate, gradient, features, squares):  # pragma: no cover
    """Teach the vectors of a bag."""
    length = dot(gradient, gradient)
    for j in range(len(ids)):
        step = rate * shares[j] * adagrad(squares, ids[j], shares[j] * shares[j] * length)
        feature = features[ids[j]]
        for d in range(len(gradient)):
            feature[d] += step * gradient[d]


@fast_parallel
def train(rows, answers, texts, tree, weights, squares, rates, threads):  # pragma: no cover
    """One pass of stochastic gradient descent over these examples; returns the sum of their losses.

    Threads share the weights without locks (Hogwild, Niu et al. 2011). The learning rate falls from `rates[0]` to
    `rates[1]`.
    """
    n, dim = len(rows), weights.features.shape[1]
    losses = np.zeros(threads)
    for thread in numba.prange(threads):
        vector, gradient = np.empty(dim, np.float32), np.empty(dim, np.float32)
        first, last = thread * n // threads, (thread + 1) * n // threads
        for i in range(first, last):
            rate = np.float32(rates[0] + (rates[1] - rates[0]) * (i - first) / (last - first))
            ids, shares = bag(rows[i], texts)
            pool(ids, shares, weights.features, vector)
            leaf = tree.leaf[answers[i]]
            losses[thread] += descend(leaf, rate, tree, vector, ids, shares, weights, squares, gradient)
            spread(ids, shares, rate, gradient, weights.features, squares.features)
    return losses.sum()
