"""The benchmarks keep up with the package: each can be started, and what they compare with can fail."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cear.config import RunConfig
from cear.core.context import HERE
from cear.core.errors import MismatchError
from cear.data import load
from cear.pipeline import open_run, run

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_says_how_it_is_started(
    path: Path, script: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = script(path.stem)
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    with pytest.raises(SystemExit) as stop:
        module.main(*([["--help"]] if module.main.__code__.co_argcount else []))
    assert stop.value.code == 0
    assert "usage:" in capsys.readouterr().out


class TestKillAndResume:
    def test_its_configuration_has_every_kind_of_step(self, script: Any) -> None:
        config = RunConfig.model_validate(script("kill_and_resume").CONFIG)
        assert config.reranker is not None
        assert config.candidates.extra_retrievers.keys() == {"rules", "texts", "tree"}
        assert config.candidates.crossfit is not None
        assert config.candidates.crossfit.held_out_folds == 2

    def test_a_missing_file_is_a_difference(self, script: Any) -> None:
        differing = script("kill_and_resume").differing
        assert differing({"a": "1", "b": "2"}, {"a": "1"}) == ["b"]
        assert differing({"a": "1"}, {"a": "1", "x.partial": "3"}) == ["x.partial"]
        assert differing({"a": "1"}, {"a": "1"}) == []


def test_the_plain_loop_scores_as_ours_does(script: Any) -> None:
    answering = script("answering")
    kb = load("demo")
    lists = answering.random_lists(kb, 2, seed=0)
    reranker = answering.SequenceReranker(kb, answering.CONFIG, HERE)
    plain = answering.PlainReader(kb, reranker).loop(lists)
    np.testing.assert_allclose(plain, reranker.rerank(lists), atol=1e-4)


def test_time_now_is_told_as_a_share_of_time_before(script: Any) -> None:
    found = script("redesign").compared({"before": [4.0, 2.0, 9.0], "now": [1.0, 2.0, 3.0]})
    assert found["median"] == {"before": 4.0, "now": 2.0}
    assert found["ratio"] == 0.5


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path], encoder_of: Callable[..., str]
) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    values: dict[str, Any] = {"data": str(write_towns(folder / "towns")), "candidates": {"k": 6}}
    values |= {"stage1": {"rank": 4, "batch": 60, "epochs": 1}}
    both: dict[str, Any] = {"encoder": encoder_of(), "epochs": 1, "max_tokens": 400}
    kinds = {"cear": {"kind": "sequence", "hidden": 8}, "kg_bert": {"kind": "kg_bert", "form_tokens": 4}}
    for name, kind in kinds.items():
        config = RunConfig.model_validate(values | {"reranker": both | kind})
        run(config, folder / name, store=folder / "store")
    return folder


class TestKgBert:
    """The two re-rankers of `benchmarks/kg_bert.py` on the towns."""

    def test_its_record_has_both_systems_and_all_uses(
        self, script: Any, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoder_of: Callable[..., str]
    ) -> None:
        module, out = script("kg_bert"), tmp_path / "record.json"
        few = {"encoder": encoder_of(), "form_tokens": 4, "facts_per_epoch": 20}
        monkeypatch.setattr(module, "RELATIONS", module.RELATIONS.model_copy(update=few))
        uses = ["--judge", "10", "--relations", str(tmp_path / "relations"), "--threads", "1"]
        module.main([str(runs / "cear"), str(runs / "kg_bert"), "--facts", "5", "--out", str(out), *uses])
        record = json.loads(out.read_text())
        assert record["queries"] == 10
        finished = open_run(runs / "kg_bert").evaluate("test", facts=5)
        assert finished.before is not None
        assert record["kg_bert"]["fused"]["both"] == pytest.approx(finished.summary()["both"])
        assert record["stage1"]["both"] == pytest.approx(finished.before.summary()["both"])
        assert record["cear"]["queries_per_second"] > 0
        assert 0 <= record["triple_classification"]["f1"] <= 1
        assert 0 < record["relation_prediction"]["mrr"] <= 1

    def test_runs_over_other_lists_are_refused(self, script: Any, runs: Path) -> None:
        one, other = (open_run(runs / name) for name in ("cear", "kg_bert"))
        candidates = other.config.candidates.model_copy(update={"k": 5})
        changed = replace(other.plan, config=other.config.model_copy(update={"candidates": candidates}))
        refuse = script("kg_bert").refuse_other_lists
        refuse(one, other)
        with pytest.raises(MismatchError, match="read other lists"):
            refuse(one, replace(other, plan=changed))
