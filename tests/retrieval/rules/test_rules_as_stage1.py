"""`stage1: {model: rules}` goes the way of every Stage 1: run, open, evaluate, ask, cross-fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from cear.candidates import fold_by_pair, hold_out
from cear.config import RunConfig
from cear.core.context import HERE
from cear.core.errors import MismatchError
from cear.data import KnowledgeBase
from cear.pipeline import Run, open_run, run
from cear.retrieval import RuleRetriever, RulesConfig, learn_rules

RULES = RulesConfig(min_support=1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> Run:
    data = write_towns(tmp_path_factory.mktemp("data") / "towns")
    return run(RunConfig(data=str(data), stage1=RULES), tmp_path_factory.mktemp("runs") / "rules")


def test_a_run_opens_to_the_same_ranking(finished: Run) -> None:
    again = open_run(finished.folder)
    queries = finished.kb.queries("test")
    assert isinstance(again.scorer, RuleRetriever)
    assert torch.equal(again.scorer.score_all(queries), finished.scorer.score_all(queries))
    assert again.evaluate("test").summary() == finished.evaluate("test").summary()
    assert again.training == finished.training
    assert finished.training.best == finished.evaluate("valid").summary()["both"]["mrr"]


def test_run_again_it_learns_nothing_anew(finished: Run) -> None:
    (path,) = finished.folder.rglob("rules.safetensors")
    before = path.stat().st_mtime_ns
    assert run(finished.config, finished.folder).training == finished.training
    assert path.stat().st_mtime_ns == before


def test_it_can_be_asked(finished: Run) -> None:
    answers = finished.ask("lies in", subject="Town 6", k=3, new=True)
    assert [answer.rank for answer in answers] == [1, 2, 3]
    assert answers[0].name.startswith("Country")


def test_a_record_speaks_of_rules_and_of_no_rank(finished: Run) -> None:
    record = finished.record(finished.evaluate("test")).as_json()
    assert record["model"] == "rules"
    assert set(record["details"]) == {"training_seconds", "valid_mrr"}


def test_other_settings_in_the_same_folder_are_refused(towns: KnowledgeBase, tmp_path: Path) -> None:
    RULES.fit(towns, tmp_path, HERE)
    with pytest.raises(MismatchError, match="learned with other settings"):
        RulesConfig(min_support=3).fit(towns, tmp_path, HERE)


def test_rules_of_a_fold_never_saw_it(towns: KnowledgeBase, tmp_path: Path) -> None:
    fold_of = fold_by_pair(towns.facts("train"), 5, seed=0)
    rest, held_out = hold_out(towns, fold_of, 0)
    found, queries = RULES.fit(rest, tmp_path, HERE).retriever, held_out.queries("train")
    blind = RuleRetriever(learn_rules(towns.facts("train")[fold_of != 0], 30, 3, RULES.settings))
    assert len(queries)
    assert torch.equal(found.score_all(queries), blind.score_all(queries))
