"""`stage1: {model: text}` goes the way of every Stage 1: run, resume, open, ask, cross-fit, beside another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import CandidatesConfig
from cear.config import RunConfig
from cear.core.context import HERE, Context
from cear.core.errors import ConfigError
from cear.data import KnowledgeBase
from cear.pipeline import Run, open_run, run
from cear.retrieval import ComplExConfig, TextConfig, TextScorer, top_k
from cear.texts import TunedVectors, text_vectors

pytestmark = pytest.mark.usefixtures("own_cache")

Config = Callable[..., TextConfig]


@pytest.fixture(scope="module")
def config_of(encoder_of: Callable[..., str]) -> Config:
    """Settings of a small text retriever."""

    def make(*, tuned: bool = False, **settings: Any) -> TextConfig:
        small = {"encoder": encoder_of(), "tokens": 8, "hidden": 32, "negatives": 5, "learning_rate": 0.01}
        small |= {"tune": {"warm_up": 0} if tuned else None, "batch": 20, "epochs": 2}
        return TextConfig.model_validate(small | settings)

    return make


@pytest.fixture(scope="module", params=[False, True], ids=["kept", "tuned"])
def finished(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    write_towns: Callable[..., Path],
    config_of: Config,
) -> Run:
    folder = tmp_path_factory.mktemp("text")
    data = write_towns(folder / "towns")
    return run(RunConfig(data=str(data), stage1=config_of(tuned=request.param)), folder / "run")


class TestRun:
    def test_it_opens_to_the_same_ranking(self, finished: Run) -> None:
        again = open_run(finished.folder)
        assert isinstance(again.scorer, TextScorer)
        queries = finished.kb.queries("test")
        assert np.array_equal(top_k(again.scorer, queries, 9).scores, top_k(finished.scorer, queries, 9).scores)
        assert finished.training.best == finished.evaluate("valid").summary()["both"]["mrr"]

    def test_it_can_be_asked(self, finished: Run) -> None:
        assert [answer.rank for answer in finished.ask("lies in", subject="Town 1", k=3, new=True)] == [1, 2, 3]

    def test_its_record_has_epochs_and_no_rank(self, finished: Run) -> None:
        record = finished.record(finished.evaluate("test")).as_json()
        assert record["model"] == "text"
        assert set(record["details"]) == {"training_seconds", "valid_mrr", "epochs", "best_epoch", "parameters"}


def test_an_encoder_is_tuned_and_its_vectors_are_those_of_its_weights(
    towns: KnowledgeBase, config_of: Config, tmp_path: Path
) -> None:
    config = config_of(tuned=True)
    trained, again = config.fit(towns, tmp_path, HERE).retriever, config.load(towns, tmp_path, HERE)
    assert isinstance(trained, TextScorer)
    assert isinstance(trained.texts, TunedVectors)
    assert isinstance(again.texts, TunedVectors)
    found = again.texts.remembered.clone()
    assert torch.equal(found, trained.texts.remembered)
    again.texts.refresh_cache()
    torch.testing.assert_close(again.texts.remembered, found, atol=1e-5, rtol=1e-4)
    untouched, _ = text_vectors(towns, config.encoder, tokens=8)
    assert not torch.allclose(found, untouched, atol=1e-3)
    saved, _ = text_vectors(towns, str(tmp_path / "encoder"), tokens=8)
    torch.testing.assert_close(saved, found, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("tuned", "stop"), [(False, 3), (True, 3), (True, 9)])
def test_interrupted_it_goes_on_to_the_same_weights(
    tuned: bool, stop: int, towns: KnowledgeBase, config_of: Config, tmp_path: Path, stopping: Any
) -> None:
    # With hard negatives their bar would count too; with one epoch of warm-up the second one reads.
    tune = {"warm_up": 1} if tuned else None
    config = config_of(checkpoint_seconds=0.0, hard=0, tune=tune, validate_every=2)
    whole = config.fit(towns, tmp_path / "whole", Context(seed=3)).retriever
    with pytest.raises(KeyboardInterrupt):
        config.fit(towns, tmp_path / "cut", Context(seed=3, progress=stopping(stop)))
    assert (tmp_path / "cut" / "checkpoint.safetensors").exists()
    resumed = config.fit(towns, tmp_path / "cut", Context(seed=3)).retriever
    assert isinstance(whole, TextScorer)
    assert isinstance(resumed, TextScorer)
    for key, value in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[key], value), key


def test_trained_it_knows_its_facts_and_no_query_answers_itself(
    towns: KnowledgeBase, config_of: Config, tmp_path: Path
) -> None:
    scorer = config_of(epochs=60, validate_every=60).fit(towns, tmp_path, HERE).retriever
    known = towns.known("train")
    first = top_k(scorer, known.queries, 1).entities[:, 0]
    right = [entity in known.answers.row(i) for i, entity in enumerate(first)]
    assert np.mean(right) > 0.8
    assert (first != known.queries.entity).mean() > 0.9


def test_a_fold_may_train_for_fewer_epochs(towns: KnowledgeBase, config_of: Config, tmp_path: Path) -> None:
    assert config_of().on_fold(1).fit(towns, tmp_path, HERE).training.epoch == 1


def test_it_stands_beside_another_stage_1(write_towns: Callable[..., Path], config_of: Config, tmp_path: Path) -> None:
    data = str(write_towns(tmp_path / "towns"))
    beside = CandidatesConfig(k=5, extra_retrievers={"text": config_of()})
    first = ComplExConfig(rank=4, batch=60, epochs=1)
    done = run(RunConfig(data=data, stage1=first, candidates=beside), tmp_path / "run")
    queries = done.kb.queries("test")
    found, again = (each.plan.retrievers.search(queries, 5) for each in (done, open_run(done.folder)))
    assert np.array_equal(found.candidates.entities, again.candidates.entities)
    best = top_k(done.plan.retrievers.extra["text"], queries, 1).entities
    assert (found.candidates.entities == best).any(axis=1).all()


def test_an_encoder_that_is_not_there_is_told_before_anything_trains(
    write_towns: Callable[..., Path], tmp_path: Path
) -> None:
    beside = CandidatesConfig(extra_retrievers={"text": TextConfig(encoder=str(tmp_path / "nobody"))})
    config = RunConfig(data=str(write_towns(tmp_path / "towns")), candidates=beside)
    with pytest.raises(ConfigError, match="No encoder"):
        run(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
