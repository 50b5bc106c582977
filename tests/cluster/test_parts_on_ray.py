"""Entities in parts on Ray: actors find what one process finds, to the last bit, and end with who asked."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from cear.cli import app
from cear.cluster import Cluster, PartsOnRay, trees_on, vectors_on
from cear.config import RunConfig
from cear.core.errors import ConfigError
from cear.core.tensors import write_tensors
from cear.core.types import Candidates, Queries
from cear.data import KnowledgeBase
from cear.pipeline import open_run, run
from cear.retrieval import (
    ComplEx,
    DotProductScorer,
    ExtremeText,
    InParts,
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


def test_a_completion_whose_entities_are_held_in_parts_proposes_the_same(
    write_towns: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cear.candidates.scored.BUDGET", 1)  # so many entities that one process searches them, too
    run(RunConfig.model_validate({**CONFIG, "data": str(write_towns(tmp_path / "towns"))}), tmp_path / "run")
    with Counting(Cluster(cpus=2), 2) as holders:
        asked = open_run(tmp_path / "run", store=tmp_path / "new steps", holders=holders)
        in_parts = asked.complete(min_probability=0)
    whole = open_run(tmp_path / "run").complete(min_probability=0)
    assert {*holders.held} == {"best.safetensors", "trees"}
    assert len(whole.table)
    assert in_parts.table.equals(whole.table)


def test_parts_need_a_place(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["complete", str(tmp_path), "--parts", "2"])
    assert isinstance(done.exception, ConfigError)
    assert "--parts 2: parts are held by workers of Ray" in str(done.exception)


CONFIG: dict[str, Any] = {
    "threads": 1,
    "stage1": {"rank": 4, "batch": 60, "epochs": 1},
    "candidates": {
        "k": 6,
        "crossfit": {"folds": 3},
        "extra_retrievers": {
            "rules": {"model": "rules"},
            "tree": {"model": "extreme_text", "dim": 8, "epochs": 1, "buckets": 100, "pair_bits": 0},
        },
    },
    "reranker": {"kind": "wide", "text": False, "width": 8, "heads": 2, "epochs": 1, "max_tokens": 400},
    "calibration": {"folds": 0},
    "refit": True,
}


class Counting(PartsOnRay):
    """Notes what it was asked to hold."""

    def __init__(self, cluster: Cluster, n_parts: int) -> None:
        super().__init__(cluster, n_parts)
        self.held: list[str] = []

    def vectors(self, scorer: DotProductScorer, path: Path) -> InParts:
        self.held.append(path.name)
        return super().vectors(scorer, path)

    def trees(self, folder: Path) -> ExtremeText:
        self.held.append("trees")
        return super().trees(folder)


def assert_same(one: Candidates, other: Candidates) -> None:
    assert np.array_equal(one.entities, other.entities)
    assert one.scores.tobytes() == other.scores.tobytes()
