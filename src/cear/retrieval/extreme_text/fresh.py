"""A model before training: its label tree and its first vectors."""

from __future__ import annotations

import numpy as np

from cear.core.threads import torch_threads
from cear.core.types import Ints
from cear.retrieval.extreme_text import searching
from cear.retrieval.extreme_text.config import TreeSettings
from cear.retrieval.extreme_text.examples import Examples
from cear.retrieval.extreme_text.huffman import huffman_tree
from cear.retrieval.extreme_text.kernels import ROLES, Texts, Weights
from cear.retrieval.extreme_text.kmeans import kmeans_tree
from cear.retrieval.extreme_text.side import SideModel, Vectors
from cear.retrieval.extreme_text.tree import LabelTree

_WIDTH = 64  # of the random vectors by which k-means compares labels
_BLOCK = 2**18  # queries whose vectors are in memory at a time


def fresh_model(examples: Examples, config: TreeSettings, seeds: list[int]) -> SideModel:
    """A model that knows nothing: random vectors of features, about as long as 1, and classifiers that say 1/2.

    Long vectors are random projections of the words, so that classifiers can learn from the first example on.
    """
    tree = build_tree(examples, config, seeds)
    features = np.random.default_rng(seeds).standard_normal((examples.texts.n_features, config.dim), np.float32)
    features *= np.float32(config.dim**-0.5)
    nodes = np.zeros((tree.n_rows, config.dim), np.float32)
    pairs = np.zeros(2**config.pair_bits if config.pair_bits else 0, np.float32)
    return SideModel(examples.texts, tree, Weights(features, nodes, pairs))


def build_tree(examples: Examples, config: TreeSettings, seeds: list[int]) -> LabelTree:
    """The tree over all entities that the settings ask for."""
    if config.tree == "huffman":
        return huffman_tree(np.bincount(examples.answer, minlength=len(examples.names)), arity=config.arity)
    return kmeans_tree(label_vectors(examples, np.random.default_rng(seeds)), arity=config.arity)


def label_vectors(examples: Examples, random: np.random.Generator) -> Vectors:
    """A unit vector per entity: the queries that it answers and its own name, both as random projections."""
    projection = random.standard_normal((examples.texts.n_features, _WIDTH), np.float32)
    total = np.zeros((len(examples.names), _WIDTH), np.float32)
    for first in range(0, len(examples), _BLOCK):
        facts = np.arange(first, min(first + _BLOCK, len(examples)))
        np.add.at(total, examples.answer[facts], _pooled(examples.rows(facts), examples.texts.arrays, projection))
    return _unit(_unit(total) + _unit(_name_vectors(examples, random)))


def _name_vectors(examples: Examples, random: np.random.Generator) -> Vectors:
    names = examples.names
    projection = random.standard_normal((names.values.max() + 1, _WIDTH), np.float32)
    texts = Texts(names.offsets, names.values, np.ones(ROLES, np.float32))
    return _pooled(np.arange(len(names))[:, None], texts, projection)


def _pooled(rows: Ints, texts: Texts, projection: Vectors) -> Vectors:
    """The vector of each query, (query, width), on as many threads as PyTorch uses."""
    with torch_threads():
        vectors: Vectors = searching.pool_all(rows, texts, projection)
    return vectors


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit
