"""The last phase of the wide re-ranker's training: the loss reaches the text encoder and Stage 1's vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import Lists, Manifest, Retrievers, make_lists
from cear.config import RunConfig
from cear.core.context import Context
from cear.core.errors import ConfigError
from cear.data import KnowledgeBase
from cear.pipeline import open_run, run
from cear.reranking import Trained, Upstream, WideConfig, WideReranker, load_reranker, train_phases
from cear.retrieval import ComplExConfig, RowsConfig
from cear.texts import TunedVectors

pytestmark = pytest.mark.usefixtures("own_cache")

LAST = {"encoder_learning_rate": 1e-3, "vector_learning_rate": 1e-2, "layers": 1, "candidates": 2}
LAST |= {"lists_per_epoch": 30}
SEED = Context(seed=2)


@pytest.fixture(scope="module")
def config(encoder_of: Callable[..., str]) -> WideConfig:
    small: dict[str, Any] = {"encoder": encoder_of(), "width": 8, "heads": 2, "epochs": 1, "validate_facts": 5}
    return WideConfig.model_validate(small | {"vectors": True, "end_to_end": LAST, "checkpoint_seconds": 0.0})


@pytest.fixture(scope="module")
def upstream(towns: KnowledgeBase) -> Upstream:
    """A Stage 1 that knows nothing, whose vectors are read."""
    stage1 = ComplExConfig(rank=4, embedding=RowsConfig(scale=0.5)).build(towns, Context(seed=5))
    return Upstream(towns, fold_retriever=stage1)


@pytest.fixture(scope="module")
def lists(towns: KnowledgeBase, upstream: Upstream) -> Lists:
    manifest = Manifest("towns", towns.digest, "train", 6, "keep", "random")
    stage1: Any = upstream.fold_retriever
    return make_lists(Retrievers(towns, stage1), towns.known("train").queries, manifest)


@pytest.fixture(scope="module", params=["better", "worse", "no better"])
def outcome(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def trained(
    config: WideConfig,
    upstream: Upstream,
    lists: Lists,
    towns: KnowledgeBase,
    outcome: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Trained:
    """A training whose last phase is said to be better or worse on validation."""
    values = iter({"better": [0.3, 0.4], "worse": [0.4, 0.3], "no better": [0.4, 0.4]}[outcome])
    features = config.features_of(lists, towns)
    fresh, folder = config.build(upstream, SEED), tmp_path_factory.mktemp("phases")
    return train_phases(fresh, lists, features, towns, folder, validate=lambda _: next(values), context=SEED)


def test_it_counts_only_where_validation_is_better(trained: Trained, outcome: str) -> None:
    assert isinstance(trained.reranker, WideReranker)
    assert (trained.reranker.config.end_to_end is not None) == (outcome == "better")
    assert trained.best == ("end_to_end" if outcome == "better" else "learning")
    assert [*trained.phases] == ["learning", "end_to_end"]


def test_saved_it_comes_back_the_same(
    trained: Trained, config: WideConfig, upstream: Upstream, lists: Lists, tmp_path: Path
) -> None:
    trained.reranker.save_pretrained(tmp_path)
    scores = trained.reranker.rerank(lists)
    for again in (config.load(upstream, tmp_path, SEED), load_reranker(tmp_path, upstream)):
        np.testing.assert_allclose(again.rerank(lists), scores, atol=1e-6)


def test_the_encoder_and_stage_1s_vectors_have_learned_or_are_as_before(
    trained: Trained, config: WideConfig, upstream: Upstream, outcome: str
) -> None:
    assert config.end_to_end is not None
    old: Any = config.build(upstream, SEED).end_to_end(config.end_to_end).model
    model: Any = trained.reranker.model
    if outcome != "better":
        assert not hasattr(model, "texts")
        assert not hasattr(model, "stage1")
        return
    tuned = model.texts
    assert isinstance(tuned, TunedVectors)
    assert _moved(old.texts.encoder, tuned.encoder) == {"encoder.layer.1"}, "the last layer alone"
    assert (old.texts.remembered - tuned.remembered).abs().max() > 1e-4
    assert _moved(old.stage1, model.stage1), "those of the re-ranker; Stage 1 itself, from which `old` is, stays"
    found = tuned.remembered.clone()
    tuned.refresh_cache()
    torch.testing.assert_close(tuned.remembered, found, atol=1e-5, rtol=1e-4)  # what is saved is what it reads


def test_a_run_with_it_opens_to_the_same_run(config: WideConfig, tmp_path: Path, write_towns: Any) -> None:
    values: dict[str, Any] = {"data": str(write_towns(tmp_path / "towns"))}
    values |= {"stage1": {"rank": 8, "batch": 60, "epochs": 2}, "reranker": config.model_dump()}
    values |= {"candidates": {"k": 6, "crossfit": {"folds": 3, "epochs": 1}}}
    done = run(RunConfig.model_validate(values), tmp_path / "run")
    queries = done.kb.queries("test")
    np.testing.assert_array_equal(open_run(done.folder).rank(queries).scores, done.rank(queries).scores)
    assert {*done.plan.reranker_training()["phases"]} == {"learning", "end_to_end"}


def test_it_needs_something_before_the_network() -> None:
    with pytest.raises(ConfigError, match="set text or vectors to true"):
        WideConfig.parse({"text": False, "end_to_end": {}}, source="here")


def _moved(one: torch.nn.Module, other: torch.nn.Module) -> set[str]:
    """The parts whose weights differ, by the first three words of their names."""
    there = dict(other.named_parameters())
    return {
        ".".join(name.split(".")[:3]) for name, weight in one.named_parameters() if not torch.equal(weight, there[name])
    }
