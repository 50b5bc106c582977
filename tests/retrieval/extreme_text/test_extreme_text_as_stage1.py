"""`stage1: {model: extreme_text}` goes the way of every Stage 1: run, open, evaluate, ask, cross-fit, re-rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import CandidatesConfig, CrossfitConfig, crossfit_folds, fold_by_pair, hold_out
from cear.config import RunConfig
from cear.core.errors import ConfigError, MismatchError, OutOfTime
from cear.core.types import SIDES
from cear.data import KnowledgeBase
from cear.pipeline import Run, open_run, run
from cear.retrieval import (
    ExtremeText,
    ExtremeTextConfig,
    Stage1Config,
    build_scorer,
    load_stage1,
    train_extreme_text,
    train_stage1,
)
from cear.training import Deadline

OWN = ExtremeTextConfig(dim=16, epochs=8, buckets=1000, pair_bits=12)
TREE = Stage1Config(model="extreme_text", extreme_text=OWN)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Training on one thread is a function of its arguments."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> Path:
    return write_towns(tmp_path_factory.mktemp("data") / "towns")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Run:
    return run(RunConfig(data=str(data), stage1=TREE), tmp_path_factory.mktemp("runs") / "tree")


def test_a_run_opens_to_the_same_ranking(finished: Run) -> None:
    again = open_run(finished.folder)
    queries = finished.kb.queries("test")
    assert isinstance(again.scorer, ExtremeText)
    assert torch.equal(again.scorer.score_all(queries), finished.scorer.score_all(queries))
    assert again.evaluate("test").summary() == finished.evaluate("test").summary()
    assert again.training == finished.training
    assert finished.training.best == finished.evaluate("valid").summary()["both"]["mrr"]


def test_run_again_it_trains_nothing_anew(finished: Run) -> None:
    files = [finished.folder / "stage1" / f"{side}.safetensors" for side in SIDES]
    before = [path.stat().st_mtime_ns for path in files]
    assert run(finished.config, finished.folder).training == finished.training
    assert [path.stat().st_mtime_ns for path in files] == before


def test_out_of_time_it_goes_on(towns: KnowledgeBase, tmp_path: Path) -> None:
    stops = 0
    while True:
        try:
            tree, state = train_stage1(towns, TREE, tmp_path, validate=lambda _: 0.5, deadline=Deadline(at=0))
            break
        except OutOfTime:
            stops += 1
    assert stops == len(SIDES) * (OWN.epochs - 1)
    assert (state.epoch, state.best, state.done) == (OWN.epochs, 0.5, True)
    queries = towns.queries("test")
    whole, _ = train_extreme_text(towns, OWN, tmp_path / "whole")
    assert torch.equal(tree.score_all(queries), whole.score_all(queries))


def test_it_can_be_asked(finished: Run) -> None:
    answers = finished.ask("lies in", subject="Town 1", k=30)
    assert [answer.rank for answer in answers] == list(range(1, 31))
    new = finished.ask("lies in", subject="Town 1", k=30, new=True)
    assert [answer.name for answer in new] == [answer.name for answer in answers if answer.known is None]


def test_a_record_states_its_own_size_and_no_rank(finished: Run) -> None:
    record = finished.record(finished.evaluate("test")).as_json()
    assert record["model"] == "extreme_text"
    assert record["details"] == {
        "training_seconds": finished.training.seconds,
        "valid_mrr": finished.training.best,
        "dim": 16,
        "epochs": 8,
    }


class TestRefused:
    def test_other_settings_in_the_same_folder(self, finished: Run) -> None:
        other = TREE.model_copy(update={"extreme_text": OWN.model_copy(update={"dim": 4})})
        folder = finished.folder / "stage1"
        with pytest.raises(MismatchError, match="another configuration"):
            train_stage1(finished.kb, other, folder, validate=lambda _: 1.0)
        with pytest.raises(MismatchError, match="another configuration"):
            load_stage1(finished.kb, other, folder)

    def test_another_knowledge_base(self, finished: Run) -> None:
        rest, _ = hold_out(finished.kb, fold_by_pair(finished.kb.facts("train"), 4, seed=0), 0)
        with pytest.raises(MismatchError, match="another digest"):
            load_stage1(rest, TREE, finished.folder / "stage1")

    def test_it_is_no_scorer_to_be_built(self) -> None:
        with pytest.raises(ConfigError, match="'extreme_text' is no scorer"):
            build_scorer(TREE, 3, 1)


class TestCrossfit:
    def crossfit(self, kb: KnowledgeBase, folder: Path, **other: Any) -> Any:
        plan, config = CrossfitConfig(folds=5, **other), CandidatesConfig(k=10)
        return crossfit_folds(kb, TREE, config, plan, folder, validate_on=lambda _: lambda _: 1.0)[0]

    def test_lists_of_a_fold_are_made_by_a_tree_that_never_saw_it(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        lists = self.crossfit(towns, tmp_path / "folds").lists
        rest, _ = hold_out(towns, fold_by_pair(towns.facts("train"), 5, seed=0), 0)
        blind, _ = train_extreme_text(rest, OWN, tmp_path / "blind")
        expected = blind.top_k(lists.queries, 10, drop=rest.known("train"))
        assert len(lists)
        assert np.array_equal(lists.candidates.entities, expected.entities)
        assert np.array_equal(lists.candidates.scores, expected.scores)

    def test_a_fold_may_train_for_fewer_epochs(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        fold = self.crossfit(towns, tmp_path, epochs=2)
        fewer = OWN.model_copy(update={"epochs": 2})
        train_extreme_text(fold.retrievers.kb, fewer, tmp_path / "fold0")  # refused, were it another training


def test_it_can_be_reranked(data: Path, tmp_path: Path, encoder_of: Callable[..., str]) -> None:
    config = RunConfig.model_validate(
        {
            "data": str(data),
            "stage1": TREE.model_dump(),
            "candidates": {"k": 5, "crossfit": {"folds": 4}},
            "reranker": {"encoder": encoder_of(), "form_tokens": 4, "epochs": 1, "max_tokens": 400},
        }
    )
    done = run(config, tmp_path / "run")
    evaluation = done.evaluate("test")
    assert evaluation.before is not None
    assert open_run(tmp_path / "run").evaluate("test").summary() == evaluation.summary()
    assert len(done.ask("lies in", subject="Town 1", k=30)) == 30
    details = done.record(evaluation).as_json()["details"]
    assert (details["dim"], details["reranker"]["k"]) == (16, 5)
