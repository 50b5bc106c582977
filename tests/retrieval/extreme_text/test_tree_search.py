"""The best-first search finds what brute force finds, ties included; what is known can be left out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cear.core.types import NO_ENTITY, Ints, Ragged
from cear.retrieval.extreme_text.huffman import huffman_tree
from cear.retrieval.extreme_text.kernels import Weights, slot
from cear.retrieval.extreme_text.kmeans import kmeans_tree
from cear.retrieval.extreme_text.side import QueryTexts, SideModel
from cear.retrieval.extreme_text.tree import LabelTree

DIM = 3


def random_tree(kind: str, n_labels: int, arity: int, random: np.random.Generator) -> LabelTree:
    if kind == "huffman":
        return huffman_tree(random.integers(0, 9, n_labels), arity=arity)
    return kmeans_tree(random.standard_normal((n_labels, 4)).astype(np.float32), arity=arity)


def model_of(tree: LabelTree, nodes: np.ndarray, features: np.ndarray, pairs: np.ndarray | None = None) -> SideModel:
    """Entity i has the one feature i; the only relation and frequent answers have none."""
    pairs = np.zeros(0) if pairs is None else pairs
    n = tree.n_labels
    offsets = np.minimum(np.arange(2 * n + 3), n)
    texts = QueryTexts(Ragged(offsets, np.arange(n)), np.zeros((1, 0), np.int64), np.ones(3, np.float32))
    return SideModel(texts, tree, Weights(*(array.astype(np.float32) for array in (features, nodes, pairs))))


def probabilities(model: SideModel, entity: int) -> np.ndarray:
    """The definition: the product of σ(±logit) from each label up to the root, (label,)."""
    tree, found = model.tree, np.ones(model.tree.n_labels)
    for label, leaf in enumerate(tree.leaf.tolist()):
        child = leaf
        while child != 0:
            node = int(tree.parent[child])
            place, row = int(child - tree.first[node]), int(tree.row[node])
            alone = tree.children[node] == 2
            z = said(model, entity, row if alone else row + place)
            found[label] *= 1 / (1 + np.exp(z if alone and place else -z))
            child = node
    return found


def said(model: SideModel, entity: int, row: int) -> float:
    """What a classifier says of an entity, which has one feature, its own number."""
    weights = model.weights
    own = weights.pairs[slot(entity, row, weights.pairs)] if len(weights.pairs) else 0.0
    return float(weights.nodes[row].astype(float) @ weights.features[entity].astype(float) + own)


def none_known(n_queries: int) -> Ragged:
    return Ragged(np.zeros(n_queries + 1, np.int64), np.zeros(0, np.int64))


@st.composite
def models(draw: st.DrawFn) -> SideModel:
    """A small tree of either kind; coarse weights make many labels tie."""
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind, arity = draw(st.sampled_from(["huffman", "kmeans"])), draw(st.integers(2, 4))
    tree = random_tree(kind, draw(st.integers(1, 25)), arity, random)
    coarse = draw(st.booleans())
    nodes = random.integers(-1, 2, (tree.n_rows, DIM)) if coarse else 3 * random.standard_normal((tree.n_rows, DIM))
    features = random.integers(-1, 2, (tree.n_labels, DIM)) if coarse else random.standard_normal((tree.n_labels, DIM))
    pairs = random.integers(-1, 2, draw(st.sampled_from([0, 1, 64])))
    return model_of(tree, nodes, features, pairs)


def ask_about_all(model: SideModel) -> tuple[Ints, Ints]:
    n = model.tree.n_labels
    return np.arange(n), np.zeros(n, np.int64)


@given(model=models(), k=st.integers(1, 30))
@settings(deadline=None)
def test_the_search_is_brute_force(model: SideModel, k: int) -> None:
    entity, relation = ask_about_all(model)
    found = model.top_k(entity, relation, k, none_known(len(entity)))
    for query in range(len(entity)):
        expected = probabilities(model, query)
        entities, scores = found.entities[query], found.scores[query]
        n = min(k, len(expected))
        np.testing.assert_allclose(np.exp(scores[:n]), np.sort(expected)[::-1][:n], rtol=2e-5)
        np.testing.assert_allclose(np.exp(scores[:n]), expected[entities[:n]], rtol=2e-5)
        assert len(set(entities[:n].tolist())) == n, "nobody twice"
        assert (entities[n:] == NO_ENTITY).all()
        assert np.isneginf(scores[n:]).all()


@given(model=models(), k=st.integers(1, 10), data=st.data())
@settings(deadline=None)
def test_known_answers_take_no_place(model: SideModel, k: int, data: st.DataObject) -> None:
    n = model.tree.n_labels
    drop = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1)))), np.int64)
    found = model.top_k(np.zeros(1, np.int64), np.zeros(1, np.int64), k, Ragged(np.array([0, len(drop)]), drop))
    left = np.delete(probabilities(model, 0), drop)
    size = min(k, len(left))
    np.testing.assert_allclose(np.exp(found.scores[0, :size]), np.sort(left)[::-1][:size], rtol=2e-5)
    assert not set(found.entities[0].tolist()) & set(drop.tolist())


@given(model=models())
@settings(deadline=None)
def test_all_scores_are_the_definition(model: SideModel) -> None:
    scores = model.score_all(*ask_about_all(model))
    for query in range(len(scores)):
        expected = probabilities(model, query)
        np.testing.assert_allclose(scores[query].exp().numpy(), expected, rtol=2e-5)


def test_probabilities_of_a_binary_tree_add_up_to_one() -> None:
    random = np.random.default_rng(0)
    tree = random_tree("huffman", 40, 2, random)
    model = model_of(tree, random.standard_normal((39, DIM)), random.standard_normal((40, DIM)))
    torch.testing.assert_close(model.score_all(*ask_about_all(model)).exp().sum(1), torch.ones(40))


@pytest.mark.parametrize("scale", [1e2, 1e30])
def test_even_absurd_classifiers_give_finite_scores(scale: float) -> None:
    random = np.random.default_rng(0)
    tree = random_tree("huffman", 9, 2, random)
    model = model_of(tree, scale * random.standard_normal((8, DIM)), random.standard_normal((9, DIM)))
    assert torch.isfinite(model.score_all(*ask_about_all(model))).all()


def test_an_answer_does_not_depend_on_the_other_queries() -> None:
    random = np.random.default_rng(1)
    tree = random_tree("kmeans", 30, 3, random)
    model = model_of(tree, random.standard_normal((tree.n_rows, DIM)), random.standard_normal((30, DIM)))
    entity, relation = ask_about_all(model)
    together = model.top_k(entity, relation, 5, none_known(30))
    for query in range(30):
        alone = model.top_k(entity[[query]], relation[[query]], 5, none_known(1))
        assert np.array_equal(alone.entities[0], together.entities[query])
        assert np.array_equal(alone.scores[0], together.scores[query])
