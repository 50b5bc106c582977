"""Entities in parts on Ray: actors find what one process finds, to the last bit, and end with who asked."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cear.cluster import Cluster, trees_on, vectors_on
from cear.core.tensors import write_tensors
from cear.core.types import Candidates, Queries
from cear.data import KnowledgeBase
from cear.retrieval import (
    ComplEx,
    ExtremeText,
    MappedRows,
    RowsEmbeddings,
    TreeSettings,
    top_k,
    train_extreme_text,
)

ray = pytest.importorskip("ray")

N_ENTITIES, RANK, SMALL = 2000, 4, 1


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return Cluster(cpus=2)


@pytest.fixture(scope="module", autouse=True)
def _ends() -> Iterator[None]:
    yield
    ray.shutdown()


def test_slices_of_vectors_in_actors_give_the_lists_of_one_process_also_after_a_kill(
    cluster: Cluster, tmp_path: Path
) -> None:
    fresh = ComplEx(RowsEmbeddings(N_ENTITIES, 1, scale=1.0), RANK)
    write_tensors(tmp_path / "best.safetensors", dict(fresh.state_dict()))
    scorer = ComplEx(MappedRows(tmp_path / "best.safetensors"), RANK)
    queries = Queries(np.arange(1500), np.arange(1500) % 2)
    one = top_k(scorer, queries, 50, memory_mb=SMALL)
    with vectors_on(cluster, scorer, tmp_path / "best.safetensors", 2, memory_mb=SMALL) as searched:
        first = top_k(searched, queries, 50)
        os.kill(searched.parts[1].process(), signal.SIGKILL)
        assert_same(one, first)
        assert_same(one, top_k(searched, queries, 50))


def test_trees_of_both_sides_in_actors_give_the_lists_of_one_process(
    cluster: Cluster, towns: KnowledgeBase, tmp_path: Path
) -> None:
    train_extreme_text(towns, TreeSettings(dim=8, epochs=1, buckets=100, pair_bits=0), tmp_path)
    queries, drop = towns.known("train").queries, towns.known("train")
    with trees_on(cluster, tmp_path, 1) as trees:
        assert_same(ExtremeText.load(tmp_path).top_k(queries, 10, drop=drop), trees.top_k(queries, 10, drop=drop))


def assert_same(one: Candidates, other: Candidates) -> None:
    assert np.array_equal(one.entities, other.entities)
    assert one.scores.tobytes() == other.scores.tobytes()
