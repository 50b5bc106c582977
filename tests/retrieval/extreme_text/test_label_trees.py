"""Label trees: every label once, siblings in a row, frequent labels near the root, similar ones together."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cear.core.types import Ints
from cear.retrieval.extreme_text.huffman import huffman_tree
from cear.retrieval.extreme_text.kmeans import kmeans_tree
from cear.retrieval.extreme_text.tree import NO_LABEL, LabelTree, label_tree

sizes = st.integers(1, 40)
arities = st.integers(2, 5)


def vectors(n: int, seed: int, width: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, width)).astype(np.float32)


def assert_is_a_label_tree(tree: LabelTree, n_labels: int, arity: int) -> None:
    n_nodes = len(tree.parent)
    assert sorted(tree.label[tree.label != NO_LABEL].tolist()) == list(range(n_labels)), "each label is one leaf"
    assert np.array_equal(tree.label[tree.leaf], np.arange(n_labels))
    assert np.array_equal(tree.label == NO_LABEL, tree.children > 0), "inner nodes have children, leaves have a label"
    assert (tree.children != 1).all(), "an only child decides nothing"
    assert tree.children.max() <= arity
    assert (tree.parent[1:] < np.arange(1, n_nodes)).all(), "a parent comes before its children"
    for node in np.flatnonzero(tree.children):
        family = np.arange(tree.first[node], tree.first[node] + tree.children[node])
        assert (tree.parent[family] == node).all()


def weighted_depth(tree: LabelTree, counts: Ints) -> int:
    return int((tree.depths() * counts).sum())


def least_weighted_depth(counts: list[int], arity: int) -> int:
    """Huffman's own procedure with a heap: the cost is the sum of all weights that are joined."""
    heap = counts + [0] * (-(len(counts) - 1) % (arity - 1))
    heapq.heapify(heap)
    cost = 0
    while len(heap) > 1:
        joined = sum(heapq.heappop(heap) for _ in range(arity))
        heapq.heappush(heap, joined)
        cost += joined
    return cost


class TestLabelTree:
    def test_a_tree_on_paper(self) -> None:
        """Root 4 with the children 2 and 3; 3 has the leaves 0, 1 and 5."""
        tree = label_tree(parent=np.array([3, 3, 4, 4, -1, 3]), leaf=np.array([2, 5, 0, 1]))
        assert tree.parent.tolist() == [-1, 0, 0, 2, 2, 2]
        assert tree.children.tolist() == [2, 0, 3, 0, 0, 0]
        assert tree.first[[0, 2]].tolist() == [1, 3]
        assert tree.label.tolist() == [-1, 0, -1, 2, 3, 1]
        assert tree.depths().tolist() == [1, 2, 2, 2]

    def test_a_pair_shares_a_classifier_and_others_have_one_each(self) -> None:
        tree = label_tree(parent=np.array([3, 3, 4, 4, -1, 3]), leaf=np.array([2, 5, 0, 1]))
        assert tree.n_rows == 1 + 3
        assert tree.row[[0, 2]].tolist() == [0, 1]

    def test_a_single_label_is_the_root_and_needs_no_decision(self) -> None:
        for tree in (huffman_tree(np.array([7])), kmeans_tree(vectors(1, 0))):
            assert (tree.n_labels, tree.n_rows, tree.depths().tolist()) == (1, 0, [0])


class TestHuffman:
    def test_golden_case(self) -> None:
        """Counts 1 1 2 4: codes of 3, 3, 2 and 1 bits."""
        assert huffman_tree(np.array([4, 1, 2, 1])).depths().tolist() == [1, 3, 2, 3]

    @given(counts=st.lists(st.integers(0, 30), min_size=1, max_size=40), arity=arities)
    @settings(deadline=None)
    def test_no_tree_has_a_smaller_mean_depth(self, counts: list[int], arity: int) -> None:
        tree = huffman_tree(np.array(counts), arity=arity)
        assert_is_a_label_tree(tree, len(counts), arity)
        if len(counts) > 1:
            assert weighted_depth(tree, np.array(counts)) == least_weighted_depth(counts, arity)

    def test_labels_never_seen_share_a_balanced_corner(self) -> None:
        depths = huffman_tree(np.array([5, 3] + [0] * 64)).depths()
        assert depths[0] == 1
        assert depths[2:].max() <= depths[2:].min() + 1 == 2 + 6 + 1


class TestKMeans:
    @given(n=sizes, arity=arities, seed=st.integers(0, 9))
    @settings(deadline=None)
    def test_it_is_a_tree_of_balanced_families(self, n: int, arity: int, seed: int) -> None:
        tree = kmeans_tree(vectors(n, seed), arity=arity)
        assert_is_a_label_tree(tree, n, arity)
        assert tree.depths().max() - tree.depths().min() <= 1

    def test_it_finds_two_clusters(self) -> None:
        """Even labels point up, odd ones down: the root separates them."""
        points = vectors(32, 1) * 0.1
        points[:, 0] += np.where(np.arange(32) % 2, -1, 1)
        tree = kmeans_tree(points)
        sides = {label: side_of_the_root(tree, label) for label in range(32)}
        assert {sides[label] for label in range(0, 32, 2)} != {sides[label] for label in range(1, 32, 2)}
        assert len({sides[label] for label in range(0, 32, 2)}) == 1

    def test_it_is_the_same_every_time(self) -> None:
        one, other = (kmeans_tree(vectors(50, 2), arity=3) for _ in range(2))
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))

    def test_equal_vectors_are_no_obstacle(self) -> None:
        assert_is_a_label_tree(kmeans_tree(np.ones((9, 3), np.float32)), 9, 2)


def side_of_the_root(tree: LabelTree, label: int) -> int:
    node = int(tree.leaf[label])
    while tree.parent[node] != 0:
        node = int(tree.parent[node])
    return node


@pytest.mark.parametrize("arity", [2, 3, 16])
def test_more_children_make_shorter_paths(arity: int) -> None:
    counts = np.ones(256, np.int64)
    assert huffman_tree(counts, arity=arity).depths().max() == -(-8 * np.log(2) // np.log(arity))
