"""A trained model as Stage 1 of a run: kept by content, not needed afterwards, with somebody else on folds."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.config import RunConfig
from cear.core.context import HERE, Context
from cear.core.errors import ConfigError, DataError, MismatchError
from cear.data import KnowledgeBase, load
from cear.pipeline import Run, open_run, run
from cear.retrieval import (
    ComplEx,
    ComplExConfig,
    DistMult,
    DistMultConfig,
    GradientConfig,
    ImportedConfig,
    write_scorer,
)

WIDE = {"kind": "wide", "text": False, "width": 8, "layers": 1, "heads": 1, "epochs": 2, "graph": False}
FOLD = {"epochs": 2, "batch": 60}


@pytest.fixture(scope="module")
def towns_folder(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> Path:
    return write_towns(tmp_path_factory.mktemp("data") / "towns")


def write_model(folder: Path, data: Path, config: GradientConfig, *, seed: int = 1) -> Path:
    """A trained model in the layout of our own export."""
    kb: KnowledgeBase = load(str(data))
    fitted = config.fit(kb, folder / "training", Context(seed=seed))
    assert isinstance(fitted.retriever, ComplEx | DistMult)
    write_scorer(folder / "model", config, fitted.retriever, kb)
    shutil.rmtree(folder / "training")
    return folder / "model"


@pytest.fixture(scope="module")
def model(towns_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"), towns_folder, ComplExConfig(rank=8, epochs=8, batch=20))


def config_of(data: Path, model: Path, **other: Any) -> RunConfig:
    stage1 = {"model": "imported", "path": str(model), "fold": FOLD}
    values: dict[str, Any] = {"data": str(data), "seed": 1, "stage1": stage1}
    values |= {"candidates": {"k": 6, "crossfit": {"folds": 3}}, "reranker": WIDE}
    return RunConfig.model_validate(values | other)


@pytest.fixture(scope="module")
def done(towns_folder: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run whose model is gone."""
    copied = Path(shutil.copytree(model, tmp_path_factory.mktemp("copy") / "model"))
    finished = run(config_of(towns_folder, copied), tmp_path_factory.mktemp("runs") / "imported")
    shutil.rmtree(copied)
    return open_run(finished.folder)


class TestFinished:
    def test_it_does_not_need_the_model_any_more(self, done: Run) -> None:
        evaluation = done.evaluate("test")
        assert evaluation.before is not None
        assert len(evaluation.ranks) == 24
        assert done.ask("lies in", subject="Town 7", k=3)

    def test_stage_1_is_the_model(self, done: Run, model: Path) -> None:
        config = ImportedConfig(path=str(model))
        fitted = config.fit(done.kb, done.folder / "again", HERE)
        queries = done.kb.queries("test")
        with torch.no_grad():
            assert torch.equal(done.scorer.score_all(queries), fitted.retriever.score_all(queries))

    def test_on_the_fold_our_own_scorer_of_its_kind_and_rank_has_learned(self, done: Run) -> None:
        plan = done.plan
        scorer = plan.load_retriever("stage1", plan.folds[0], plan.fold_retrievers[0]["stage1"])
        assert isinstance(scorer, ComplEx)
        assert scorer.entity(None).shape == (30, 16)
        assert plan.training(plan.fold_retrievers[0]["stage1"]).epoch == FOLD["epochs"]

    def test_the_record_names_it(self, done: Run) -> None:
        record = done.record(done.evaluate("test")).as_json()
        assert record["provenance"]["config"]["stage1"]["model"] == "imported"


class TestKeys:
    def test_the_same_model_elsewhere_is_the_same_step(self, towns_folder: Path, model: Path, tmp_path: Path) -> None:
        moved = Path(shutil.copytree(model, tmp_path / "moved"))
        config = config_of(towns_folder, model, reranker=None)
        run(config, tmp_path / "one", store=tmp_path / "store")
        again = run(config_of(towns_folder, moved, reranker=None), tmp_path / "two", store=tmp_path / "store")
        assert [report.reused for report in again.steps()] == [True]

    def test_another_model_in_its_place_is_another_step(self, towns_folder: Path, model: Path, tmp_path: Path) -> None:
        place = Path(shutil.copytree(model, tmp_path / "place"))
        one = run(config_of(towns_folder, place, reranker=None), tmp_path / "one", store=tmp_path / "store")
        other = write_model(tmp_path, towns_folder, DistMultConfig(rank=8, epochs=2, batch=20))
        shutil.rmtree(place)
        shutil.move(other, place)
        two = run(config_of(towns_folder, place, reranker=None), tmp_path / "two", store=tmp_path / "store")
        assert not any(report.reused for report in two.steps())
        assert isinstance(one.scorer, ComplEx)
        assert isinstance(two.scorer, DistMult)


def test_it_may_stand_beside_stage_1(towns_folder: Path, model: Path, tmp_path: Path) -> None:
    extra = {"theirs": {"model": "imported", "path": str(model), "fold": FOLD}}
    candidates = {"k": 6, "crossfit": {"folds": 3}, "extra_retrievers": extra}
    stage1 = {"model": "rules", "min_support": 1}
    finished = run(config_of(towns_folder, model, stage1=stage1, candidates=candidates), tmp_path / "run")
    assert [*finished.plan.retrievers.extra] == ["theirs"]
    assert len(finished.evaluate("test").ranks) == 24


def test_who_learns_in_its_place_is_said(
    towns_folder: Path, model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "cear.retrieval"):
        run(config_of(towns_folder, model), tmp_path / "run")
    assert f"{model} cannot be trained again: on a fold, our own complex of rank 8 learns." in caplog.messages


class TestRefusedBeforeAnything:
    def refused(self, config: RunConfig, out: Path, error: type[Exception], says: str) -> None:
        with pytest.raises(error, match=says):
            run(config, out)
        assert not out.exists()

    def test_a_model_that_is_gone(self, towns_folder: Path, tmp_path: Path) -> None:
        config = config_of(towns_folder, tmp_path / "gone")
        self.refused(config, tmp_path / "run", DataError, "There is no trained model")

    def test_a_model_of_other_data(self, model: Path, tmp_path: Path) -> None:
        (tmp_path / "facts").mkdir()
        for split in ("train", "valid", "test"):
            (tmp_path / "facts" / f"{split}.txt").write_text("t1\tlies_in\tcc1\n")
        config = config_of(tmp_path / "facts", model)
        self.refused(
            config, tmp_path / "run", MismatchError, r"lacks 1 of the 2 entities of .*: 'cc1' \(closest there: 'c1'\)"
        )

    def test_settings_of_the_fold_that_its_kind_does_not_have(
        self, towns_folder: Path, model: Path, tmp_path: Path
    ) -> None:
        stage1 = {"model": "imported", "path": str(model), "fold": {"norm": 1}}
        config = config_of(towns_folder, model, stage1=stage1)
        self.refused(config, tmp_path / "run", ConfigError, "fold is not a configuration that works:\n  norm: no such")


def test_half_an_import_is_none(
    towns_folder: Path, model: Path, tmp_path: Path, stopping: Callable[[int], Any]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(config_of(towns_folder, model, reranker=None), tmp_path / "run", progress=stopping(1))
    assert not [*(tmp_path / "run").rglob("scorer.*")]
    finished = run(config_of(towns_folder, model, reranker=None), tmp_path / "run")
    assert np.isfinite(finished.training.best)
