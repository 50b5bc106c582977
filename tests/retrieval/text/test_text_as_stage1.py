"""`stage1: {model: text}` goes the way of every Stage 1: run, resume, open, ask, cross-fit, beside another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import CandidatesConfig, CrossfitConfig, crossfit_folds, fold_by_pair, hold_out
from cear.config import RunConfig
from cear.core.errors import ConfigError
from cear.data import KnowledgeBase
from cear.pipeline import Run, open_run, run
from cear.retrieval import Stage1Config, TextScorer, load_stage1, top_k, train_stage1
from cear.texts import TunedVectors, text_vectors

pytestmark = pytest.mark.usefixtures("own_cache")

TUNES = ("none", "encoder")
Config = Callable[..., Stage1Config]


@pytest.fixture(scope="module")
def config_of(encoder_of: Callable[..., str]) -> Config:
    """Settings of a small text retriever."""

    def make(tune: str = "none", **stage1: Any) -> Stage1Config:
        text = {"tune": tune, "encoder": encoder_of(), "tokens": 8, "hidden": 32, "negatives": 5, "learning_rate": 0.01}
        text |= {"warm_up": 0}
        return Stage1Config.model_validate({"model": "text", "text": text, "batch": 20, "epochs": 2} | stage1)

    return make


@pytest.fixture(scope="module", params=TUNES)
def finished(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    write_towns: Callable[..., Path],
    config_of: Config,
) -> Run:
    folder = tmp_path_factory.mktemp("text")
    data = write_towns(folder / "towns")
    return run(RunConfig(data=str(data), stage1=config_of(request.param)), folder / "run")


class TestRun:
    def test_it_opens_to_the_same_ranking(self, finished: Run) -> None:
        again = open_run(finished.folder)
        assert isinstance(again.scorer, TextScorer)
        queries = finished.kb.queries("test")
        assert np.array_equal(top_k(again.scorer, queries, 9).scores, top_k(finished.scorer, queries, 9).scores)
        assert finished.training.best == finished.evaluate("valid").summary()["both"]["mrr"]

    def test_it_can_be_asked(self, finished: Run) -> None:
        assert [answer.rank for answer in finished.ask("lies in", subject="Town 1", k=3)] == [1, 2, 3]

    def test_its_record_has_epochs_and_no_rank(self, finished: Run) -> None:
        record = finished.record(finished.evaluate("test")).as_json()
        assert record["model"] == "text"
        assert set(record["details"]) == {"training_seconds", "valid_mrr", "epochs", "best_epoch"}


def test_an_encoder_is_tuned_and_its_vectors_are_those_of_its_weights(
    towns: KnowledgeBase, config_of: Config, tmp_path: Path
) -> None:
    trained, _ = train_stage1(towns, config_of("encoder"), tmp_path, validate=lambda _: 1.0)
    again = load_stage1(towns, config_of("encoder"), tmp_path)
    assert isinstance(trained, TextScorer)
    assert isinstance(trained.texts, TunedVectors)
    assert isinstance(again, TextScorer)
    assert isinstance(again.texts, TunedVectors)
    found = again.texts.remembered.clone()
    assert torch.equal(found, trained.texts.remembered)
    again.texts.refresh_cache()
    torch.testing.assert_close(again.texts.remembered, found, atol=1e-5, rtol=1e-4)
    untouched, _ = text_vectors(towns, config_of().text.encoder, tokens=8)
    assert not torch.allclose(found, untouched, atol=1e-3)
    saved, _ = text_vectors(towns, str(tmp_path / "encoder"), tokens=8)
    torch.testing.assert_close(saved, found, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("tune", "stop"), [("none", 3), ("encoder", 3), ("encoder", 9)])
def test_interrupted_it_goes_on_to_the_same_weights(
    tune: str, stop: int, towns: KnowledgeBase, config_of: Config, tmp_path: Path, stopping: Any
) -> None:
    config = config_of(tune, checkpoint_seconds=0.0)
    text = {"hard": 0, "warm_up": 1}  # with hard negatives their bar would count too
    config = config.model_copy(update={"text": config.text.model_copy(update=text)})
    whole, _ = train_stage1(towns, config, tmp_path / "whole", validate=lambda _: 1.0, seed=3)
    with pytest.raises(KeyboardInterrupt):
        train_stage1(towns, config, tmp_path / "cut", validate=lambda _: 1.0, seed=3, progress=stopping(stop))
    assert (tmp_path / "cut" / "checkpoint.safetensors").exists()
    resumed, _ = train_stage1(towns, config, tmp_path / "cut", validate=lambda _: 1.0, seed=3)
    assert isinstance(whole, TextScorer)
    assert isinstance(resumed, TextScorer)
    for key, value in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[key], value), key


def test_trained_it_knows_its_facts_and_no_query_answers_itself(
    towns: KnowledgeBase, config_of: Config, tmp_path: Path
) -> None:
    looks = iter(range(60))
    scorer, _ = train_stage1(towns, config_of(epochs=60), tmp_path, validate=lambda _: float(next(looks)))
    known = towns.known("train")
    first = top_k(scorer, known.queries, 1).entities[:, 0]
    right = [entity in known.answers.row(i) for i, entity in enumerate(first)]
    assert np.mean(right) > 0.8
    assert (first != known.queries.entity).mean() > 0.9


def test_lists_of_a_fold_are_made_by_texts_that_never_learned_it(
    towns: KnowledgeBase, config_of: Config, tmp_path: Path
) -> None:
    crossfit, settings = CrossfitConfig(folds=5, epochs=1), CandidatesConfig(k=10, known="keep")
    blind_to: Any = {"validate_on": lambda _: lambda _: 1.0}
    lists = crossfit_folds(towns, config_of(), settings, crossfit, tmp_path / "folds", **blind_to)[0].lists
    rest, _ = hold_out(towns, fold_by_pair(towns.facts("train"), 5, seed=0), 0)
    blind, state = train_stage1(rest, config_of(epochs=1), tmp_path / "blind", validate=lambda _: 1.0)
    assert state.epoch == 1, "crossfit.epochs counts for text as for every Stage 1"
    assert np.array_equal(lists.candidates.scores, top_k(blind, lists.queries, 10).scores)


def test_it_stands_beside_another_stage_1(write_towns: Callable[..., Path], config_of: Config, tmp_path: Path) -> None:
    data = str(write_towns(tmp_path / "towns"))
    also = CandidatesConfig(k=5, also={"text": config_of()})
    first = Stage1Config(rank=4, batch=60, epochs=1)
    done = run(RunConfig(data=data, stage1=first, candidates=also), tmp_path / "run")
    again = open_run(done.folder)
    queries = done.kb.queries("test")
    found = again.retrievers.top_k(queries, 5)
    assert np.array_equal(found.entities, done.retrievers.top_k(queries, 5).entities)
    best = top_k(done.retrievers.also["text"], queries, 1).entities
    assert (found.entities == best).any(axis=1).all()


def test_an_encoder_that_is_not_there_is_told_before_anything_trains(
    write_towns: Callable[..., Path], tmp_path: Path
) -> None:
    stage1 = Stage1Config.model_validate({"model": "text", "text": {"encoder": str(tmp_path / "nobody")}})
    config = RunConfig(data=str(write_towns(tmp_path / "towns")), candidates=CandidatesConfig(also={"text": stage1}))
    with pytest.raises(ConfigError, match="No encoder"):
        run(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
