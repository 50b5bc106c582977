"""The benchmarks keep up with the package: each can be started, and what they compare with can fail."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cear.config import RunConfig
from cear.core.context import HERE
from cear.data import load

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(FOLDER.glob("*.py"))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a benchmark by its name, as if it were started in its folder."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def imported(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"benchmark_{name}", FOLDER / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module

    return imported


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
