"""Compiled loops: the vectors of queries, and stochastic gradient descent down the tree.

Shapes: `rows` (query, text) names the texts that make up a query, `starts` and `ids` list the features of each text,
`features` (feature, dim) and `nodes` (classifier, dim) are what is learned.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import numba
import numpy as np

from cear.retrieval.extreme_text.tree import ROOT

compiled = numba.njit(fastmath={"contract", "reassoc", "nsz"}, nogil=True, cache=True)
compiled_parallel = numba.njit(fastmath={"contract", "reassoc", "nsz"}, nogil=True, cache=True, parallel=True)


@compiled
def pool(texts, starts, ids, features, out):  # pragma: no cover
    """Put the mean of the vectors of a query's features into `out`; return how many there are."""
    out[:] = 0
    n = 0
    for text in texts:
        for j in range(starts[text], starts[text + 1]):
            vector = features[ids[j]]
            for d in range(len(out)):
                out[d] += vector[d]
            n += 1
    scale = np.float32(1 / max(n, 1))
    for d in range(len(out)):
        out[d] *= scale
    return n


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
def decide(node, wanted, rate, vector, gradient):  # pragma: no cover
    """Teach one classifier whether the answer is there (`wanted` 1 or 0); returns its logistic loss."""
    z = dot(node, vector)
    step = rate * (wanted - np.float32(1) / (np.float32(1) + np.exp(-z)))
    for d in range(len(vector)):
        gradient[d] += step * node[d]
        node[d] += step * vector[d]
    return -log_sigmoid(z if wanted else -z)


@compiled
def learn(leaf, rate, tree, vector, nodes, gradient):  # pragma: no cover
    """Teach every family on the way from a leaf to the root; adds to `gradient`, returns the loss."""
    gradient[:] = 0
    loss = np.float32(0)
    child = leaf
    while child != ROOT:
        node = tree.parent[child]
        right, row = child - tree.first[node], tree.row[node]
        if tree.children[node] == 2:
            loss += decide(nodes[row], np.float32(1 - right), rate, vector, gradient)
        else:
            for i in range(tree.children[node]):
                loss += decide(nodes[row + i], np.float32(i == right), rate, vector, gradient)
        child = node
    return loss


@compiled_parallel
def train(rows, answers, starts, ids, tree, features, nodes, rates, threads):  # pragma: no cover
    """One pass of stochastic gradient descent over these examples; returns the sum of their losses.

    Threads share the weights without locks (Hogwild, Niu et al. 2011). The learning rate falls from
    `rates[0]` to `rates[1]`.
    """
    n, dim = len(rows), features.shape[1]
    losses = np.zeros(threads)
    for thread in numba.prange(threads):
        vector, gradient = np.empty(dim, np.float32), np.empty(dim, np.float32)
        loss = 0.0
        for i in range(thread * n // threads, (thread + 1) * n // threads):
            done = (i - thread * n // threads) / n * threads
            rate = np.float32(rates[0] + (rates[1] - rates[0]) * done)
            count = pool(rows[i], starts, ids, features, vector)
            loss += learn(tree.leaf[answers[i]], rate, tree, vector, nodes, gradient)
            share = np.float32(1 / max(count, 1))
            for text in rows[i]:
                for j in range(starts[text], starts[text + 1]):
                    feature = features[ids[j]]
                    for d in range(dim):
                        feature[d] += share * gradient[d]
        losses[thread] = loss
    return losses.sum()


@compiled_parallel
def pool_all(rows, starts, ids, features):  # pragma: no cover
    """The vector of each query, (query, dim)."""
    vectors = np.empty((len(rows), features.shape[1]), np.float32)
    for i in numba.prange(len(rows)):
        pool(rows[i], starts, ids, features, vectors[i])
    return vectors
