"""The last phase of the wide re-ranker's training: the loss reaches the text encoder and Stage 1's vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.config import RunConfig
from cear.core.errors import ConfigError
from cear.pipeline import Run, open_run, run
from cear.reranking import WideConfig, WideReranker
from cear.retrieval import load_stage1
from cear.stages import train_second_stage
from cear.texts import TunedVectors

pytestmark = pytest.mark.usefixtures("own_cache")

LAST = {"encoder_learning_rate": 1e-3, "vector_learning_rate": 1e-2, "layers": 1, "candidates": 2, "lists": 30}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory, write_towns: Any, encoder_of: Callable[..., str]) -> RunConfig:
    values: dict[str, Any] = {"data": str(write_towns(tmp_path_factory.mktemp("towns") / "towns"))}
    values |= {"stage1": {"rank": 8, "batch": 60, "epochs": 2}}
    values |= {"candidates": {"k": 6, "crossfit": {"folds": 3, "epochs": 1}}}
    reranker = {"kind": "wide", "encoder": encoder_of(), "width": 8, "heads": 2, "epochs": 1, "validate_facts": 5}
    reranker |= {"vectors": True, "end_to_end": LAST, "checkpoint_seconds": 0.0}
    return RunConfig.model_validate(values | {"reranker": reranker})


@pytest.fixture(scope="module", params=["better", "worse"])
def outcome(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def done(config: RunConfig, outcome: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose last phase is said to be better or worse on validation."""
    values = iter([0.3, 0.4] if outcome == "better" else [0.4, 0.3])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cear.stages._Look.mrr", lambda *_: next(values))
        return run(config, tmp_path_factory.mktemp("run"))


def test_it_counts_only_where_validation_is_better(done: Run, outcome: str) -> None:
    assert done.second is not None
    assert isinstance(done.second.reranker, WideReranker)
    assert (done.second.reranker.config.end_to_end is not None) == (outcome == "better")
    details = done.record(done.evaluate("test")).as_json()["details"]["reranker"]
    assert details["end_to_end"]["kept"] == (outcome == "better")
    assert (details["valid_mrr"], details["end_to_end"]["valid_mrr"]) in {(0.3, 0.4), (0.4, 0.3)}


def test_it_opens_to_the_same_run(done: Run) -> None:
    again = open_run(done.folder)
    assert again.evaluate("test").summary() == done.evaluate("test").summary()
    assert again.second is not None
    assert done.second is not None
    assert again.second.last_phase == done.second.last_phase


def test_the_encoder_and_stage_1s_vectors_have_learned_or_are_as_before(done: Run, outcome: str) -> None:
    assert done.second is not None
    reranker: Any = done.second.reranker
    of_fold = load_stage1(done.kb, done.config.stage1, done.folder / "crossfit" / "fold0")
    settings: Any = done.config.reranker
    old: Any = WideReranker(done.retrievers, settings, vectors_of=of_fold).end_to_end(settings.end_to_end).model
    if outcome == "worse":
        assert not hasattr(reranker.model, "texts")
        return
    tuned = reranker.model.texts
    assert isinstance(tuned, TunedVectors)
    assert _moved(old.texts.encoder, tuned.encoder) == {"encoder.layer.1"}, "the last layer alone"
    assert (old.texts.remembered - tuned.remembered).abs().max() > 1e-4
    assert _moved(old.stage1, reranker.model.stage1)
    found = tuned.remembered.clone()
    tuned.refresh_cache()
    torch.testing.assert_close(tuned.remembered, found, atol=1e-5, rtol=1e-4)  # what is saved is what it reads


def test_interrupted_it_goes_on_to_the_same_weights(config: RunConfig, tmp_path: Path, stopping: Any) -> None:
    whole = run(config, tmp_path / "whole")
    cut = tmp_path / "cut"
    run(config.model_copy(update={"reranker": None}), cut)
    for part in ("config.yaml", "run.json"):
        (cut / part).write_bytes((tmp_path / "whole" / part).read_bytes())
    stops = 0
    for at in range(2, 200, 5):
        try:
            train_second_stage(config, config.reranker, whole.retrievers, cut, progress=stopping(at))  # type: ignore[arg-type]
            break
        except KeyboardInterrupt:
            stops += 1
    assert stops
    assert (cut / "stage2" / "end_to_end" / "checkpoint.safetensors").exists()
    one, other = (open_run(folder).evaluate("test") for folder in (tmp_path / "whole", cut))
    assert np.array_equal(one.ranks.above, other.ranks.above)


def test_it_needs_something_before_the_network() -> None:
    with pytest.raises(ConfigError, match="set text or vectors to true"):
        WideConfig.parse({"text": False, "end_to_end": {}}, source="here")


def _moved(one: torch.nn.Module, other: torch.nn.Module) -> set[str]:
    """The parts whose weights differ, by the first three words of their names."""
    there = dict(other.named_parameters())
    return {
        ".".join(name.split(".")[:3]) for name, weight in one.named_parameters() if not torch.equal(weight, there[name])
    }
