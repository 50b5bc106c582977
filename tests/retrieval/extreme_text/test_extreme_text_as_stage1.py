"""`stage1: {model: extreme_text}` goes the way of every Stage 1: run, open, evaluate, ask, cross-fit, re-rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from cear.candidates import fold_by_pair, hold_out
from cear.config import RunConfig
from cear.core.context import HERE, Context, Deadline
from cear.core.errors import MismatchError, OutOfTime
from cear.core.types import SIDES
from cear.data import KnowledgeBase
from cear.pipeline import Run, open_run, run
from cear.retrieval import ExtremeText, ExtremeTextConfig, train_extreme_text

TREE = ExtremeTextConfig(dim=16, epochs=8, buckets=1000, pair_bits=12)


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
    files = [next(finished.folder.rglob(f"{side}.safetensors")) for side in SIDES]
    before = [path.stat().st_mtime_ns for path in files]
    assert run(finished.config, finished.folder).training == finished.training
    assert [path.stat().st_mtime_ns for path in files] == before


def test_out_of_time_it_goes_on(towns: KnowledgeBase, tmp_path: Path) -> None:
    stops = 0
    while True:
        try:
            fitted = TREE.fit(towns, tmp_path, Context(deadline=Deadline(at=0)))
            break
        except OutOfTime:
            stops += 1
    assert stops == len(SIDES) * (TREE.epochs - 1)
    assert (fitted.training.epoch, fitted.training.done) == (TREE.epochs, True)
    queries = towns.queries("test")
    whole, _ = train_extreme_text(towns, TREE.settings, tmp_path / "whole")
    assert torch.equal(fitted.retriever.score_all(queries), whole.score_all(queries))


def test_it_can_be_asked(finished: Run) -> None:
    answers = finished.ask("lies in", subject="Town 1", k=30)
    assert [answer.rank for answer in answers] == list(range(30)), "what is known needs no ranking"
    new = finished.ask("lies in", subject="Town 1", k=30, new=True)
    assert [answer.name for answer in new] == [answer.name for answer in answers if answer.known is None]


def test_a_record_states_its_own_size_and_no_rank(finished: Run) -> None:
    record = finished.record(finished.evaluate("test")).as_json()
    assert record["model"] == "extreme_text"
    details = record["details"]
    assert details.pop("training_seconds") > 0
    assert details == {"valid_mrr": finished.training.best, "dim": 16, "epochs": 8}


class TestRefused:
    def test_other_settings_in_the_same_folder(self, finished: Run) -> None:
        other = TREE.model_copy(update={"dim": 4})
        folder = next(finished.folder.rglob("tail.safetensors")).parent
        for use in (other.fit, other.load):
            with pytest.raises(MismatchError, match="another configuration"):
                use(finished.kb, folder, HERE)

    def test_another_knowledge_base(self, finished: Run) -> None:
        rest, _ = hold_out(finished.kb, fold_by_pair(finished.kb.facts("train"), 4, seed=0), 0)
        with pytest.raises(MismatchError, match="another digest"):
            TREE.load(rest, next(finished.folder.rglob("tail.safetensors")).parent, HERE)


def test_a_fold_may_train_for_fewer_epochs(towns: KnowledgeBase, tmp_path: Path) -> None:
    TREE.on_fold(2).fit(towns, tmp_path, HERE)
    train_extreme_text(towns, TREE.settings.model_copy(update={"epochs": 2}), tmp_path)  # refused, were it another


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
