"""What other devices than the CPU compute is what the compiled loops compute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from cear.core.context import HERE, Context
from cear.core.types import NO_ENTITY, Ints, Ragged
from cear.data import KnowledgeBase
from cear.retrieval import ExtremeText, ExtremeTextConfig, TreeSettings, train_extreme_text
from cear.retrieval.extreme_text import model, plain
from cear.retrieval.extreme_text.huffman import huffman_tree
from cear.retrieval.extreme_text.kernels import Weights
from cear.retrieval.extreme_text.kmeans import kmeans_tree
from cear.retrieval.extreme_text.plain import SideOnDevice
from cear.retrieval.extreme_text.side import QueryTexts, SideModel
from cear.retrieval.extreme_text.tree import LabelTree

CLOSE = {"rtol": 1e-4, "atol": 1e-4}
RELATIONS, FEATURES, DIM = 3, 50, 5


def random_tree(kind: str, n: int, arity: int, random: np.random.Generator) -> LabelTree:
    if kind == "huffman":
        return huffman_tree(random.integers(0, 40, n) ** 2, arity=arity)
    return kmeans_tree(random.standard_normal((n, 4)).astype(np.float32), arity=arity)


def random_side(kind: str, n: int, arity: int, pairs: int, seed: int) -> SideModel:
    """A model whose texts have no to six features, and whose relations have no to two frequent answers."""
    random = np.random.default_rng(seed)
    tree = random_tree(kind, n, arity, random)
    counts = np.append(random.integers(0, 7, 2 * n + RELATIONS), 0)
    features = Ragged.of_counts(counts, random.integers(0, FEATURES, counts.sum()))
    frequent = random.integers(0, n, (RELATIONS, 2))
    frequent[0], frequent[1, 1] = NO_ENTITY, NO_ENTITY
    shapes = ((FEATURES, DIM), (tree.n_rows, DIM), (pairs,))
    weights = Weights(*(random.standard_normal(shape).astype(np.float32) for shape in shapes))
    return SideModel(QueryTexts(features, frequent, np.array([1, 0.7, 0.25], np.float32)), tree, weights)


def queries(n: int) -> tuple[Ints, Ints]:
    return np.repeat(np.arange(n), RELATIONS), np.tile(np.arange(RELATIONS), n)


@pytest.mark.parametrize("kind", ["huffman", "kmeans"])
@pytest.mark.parametrize("arity", [2, 3, 5])
@pytest.mark.parametrize("pairs", [0, 64])
@pytest.mark.parametrize("n", [1, 2, 3, 40])
class TestASide:
    @pytest.fixture(autouse=True, params=[1, 4, 10**9], ids=["a row a block", "some", "all"])
    def block(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(plain, "rows_within", lambda _: request.param)

    def test_scores_are_those_of_the_kernel(self, kind: str, arity: int, pairs: int, n: int) -> None:
        side = random_side(kind, n, arity, pairs, seed=n + arity)
        found = SideOnDevice(side, "cpu").score_all(*queries(n))
        torch.testing.assert_close(found, side.score_all(*queries(n)), **CLOSE)

    def test_so_are_those_of_labels(self, kind: str, arity: int, pairs: int, n: int) -> None:
        side = random_side(kind, n, arity, pairs, seed=n + arity)
        labels = np.random.default_rng(0).integers(0, n, (n * RELATIONS, 4))
        found = SideOnDevice(side, "cpu").score_labels(*queries(n), labels)
        torch.testing.assert_close(found, side.score_labels(*queries(n), labels), **CLOSE)

    def test_the_best_are_the_same(self, kind: str, arity: int, pairs: int, n: int) -> None:
        side = random_side(kind, n, arity, pairs, seed=n + arity)
        random = np.random.default_rng(1)
        known = Ragged.of([sorted({*random.integers(0, n, i % 3).tolist()}) for i in range(n * RELATIONS)])
        expected = side.top_k(*queries(n), 5, known)
        found = SideOnDevice(side, "cpu").top_k(*queries(n), 5, known)
        asked = side.texts.features.counts[side.texts.asked(*queries(n))].sum(1) > 0  # without a feature all may tie
        assert np.array_equal(found.entities[asked], expected.entities[asked])
        np.testing.assert_allclose(found.scores, expected.scores, **CLOSE)


def test_every_tensor_is_made_on_the_device_that_was_named() -> None:
    """One that is not would be made on the default device, and tensors of two devices do not add up."""
    side = random_side("huffman", 40, 3, 64, seed=0)
    with torch.device("meta"):
        found = SideOnDevice(side, "cpu").score_all(*queries(40))
    torch.testing.assert_close(found, side.score_all(*queries(40)), **CLOSE)


def test_the_whole_retriever_is_the_same(towns: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = TreeSettings(dim=8, epochs=3, buckets=500, pair_bits=10)
    trained, _ = train_extreme_text(towns, config, tmp_path)
    monkeypatch.setattr(model, "runs_kernels", lambda _: False)
    plainly, asked = ExtremeText.load(tmp_path), towns.queries("test")
    torch.testing.assert_close(plainly.score_all(asked), trained.score_all(asked), **CLOSE)
    among = np.array([3, 1, 20])
    assert torch.equal(plainly.score_all(asked, among), plainly.score_all(asked)[:, among])
    drop = towns.known("train")
    found, expected = (each.top_k(asked, 6, drop=drop) for each in (plainly, trained))
    np.testing.assert_allclose(found.scores, expected.scores, **CLOSE)
    scores = plainly.score_candidates(asked, found.entities)
    np.testing.assert_allclose(scores.numpy(), found.scores, **CLOSE)


def test_a_run_has_it_where_its_device_is(towns: KnowledgeBase, tmp_path: Path) -> None:
    config = ExtremeTextConfig(dim=8, epochs=1, buckets=500, pair_bits=10)
    config.fit(towns, tmp_path, HERE)
    assert config.load(towns, tmp_path, Context(device="meta")).device.type == "meta"


@pytest.mark.parametrize("n", [1, 2, 9])
def test_levels_are_the_nodes_below_the_root(n: int) -> None:
    tree = huffman_tree(np.arange(n), arity=2)
    levels = [np.arange(len(tree.parent))[level] for level in tree.levels()]
    assert np.concatenate([[0], *levels]).tolist() == list(range(len(tree.parent)))
    for above, level in zip([np.zeros(1), *levels], levels, strict=False):
        assert np.isin(tree.parent[level], above).all()
