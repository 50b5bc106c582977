"""Shared neighbours: the compiled kernel and PyTorch count the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cear.candidates import Lists, Manifest
from cear.core.types import Candidates, Ints, Queries, Ragged
from cear.data import KnowledgeBase
from cear.reranking.wide import graph
from cear.reranking.wide.graph import GraphFeatures
from cear.reranking.wide.shared import SharedOnDevice, count_shared


def neighbours(pairs: list[tuple[int, int]], n: int) -> Ragged:
    """Who is next to whom, both ways."""
    both = sorted({*pairs, *((b, a) for a, b in pairs)})
    return Ragged.of([[b for a, b in both if a == row] for row in range(n)])


def agree(near: Ragged, subjects: Ints, entities: Ints) -> None:
    compiled, pytorch = count_shared(near, subjects, entities), SharedOnDevice(near, "cpu")(subjects, entities)
    assert compiled.shape == pytorch.shape == (3, *entities.shape)
    assert compiled.dtype == pytorch.dtype == np.float32
    for what in (0, 2):
        assert np.array_equal(compiled[what], pytorch[what]), "counts are whole numbers"
    np.testing.assert_allclose(compiled[1], pytorch[1], rtol=1e-5, atol=1e-5)


@given(st.integers(1, 9), st.integers(1, 4), st.data())
def test_both_agree_for_any_graph(n: int, k: int, data: st.DataObject) -> None:
    entity = st.integers(0, n - 1)
    pairs = data.draw(st.lists(st.tuples(entity, entity), max_size=30))
    rows = data.draw(st.lists(st.tuples(entity, st.lists(entity, min_size=k, max_size=k)), max_size=6))
    subjects = np.array([s for s, _ in rows], np.int64)
    agree(neighbours(pairs, n), subjects, np.array([e for _, e in rows], np.int64).reshape(-1, k))


@pytest.mark.parametrize("at_once", [1, 7, 10_000])
def test_in_as_little_memory_as_it_is_given(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr("cear.reranking.wide.shared._AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    near = neighbours([*map(tuple, rng.integers(40, size=(300, 2)).tolist())], 50)  # ten have no neighbour
    agree(near, rng.integers(50, size=20), rng.integers(50, size=(20, 8)))


def test_a_graph_elsewhere_has_the_same_features(towns: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that is not the CPU, which is the CPU all the same."""
    asked: list[Any] = []

    def here(near: Ragged, device: Any) -> SharedOnDevice:
        asked.append(device)
        return SharedOnDevice(near, "cpu")

    monkeypatch.setattr(graph, "SharedOnDevice", here)
    rng = np.random.default_rng(1)
    entities = rng.permuted(np.tile(np.arange(30), (12, 1)), axis=1)[:, :6]
    found = Candidates(entities, -np.tile(np.arange(6.0), (12, 1)))
    lists = Lists(Queries(np.arange(12), np.arange(12) % 6), found, Manifest("towns", "", "train", 6, "keep", "nobody"))
    one, other = (GraphFeatures(towns.facts("train"), 30, 3, device=device).of(lists) for device in ("cpu", "cuda:0"))
    assert asked == ["cuda:0"]
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
