"""`cear fit`: what is tried, what stays, and that time is what it has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from cear.cli import app
from cear.config import load_config
from cear.core.errors import ConfigError, OutOfTime
from cear.data import KnowledgeBase, Vocabulary
from cear.pipeline import open_run, run
from cear.steps import Step
from cear.tuning import CHANGES, Change, Profile, Trial, changes_for, fit, fitting, search

pytestmark = pytest.mark.usefixtures("own_cache")

SHORT = Change("a shorter Stage 1", ("stage1.epochs=1", "stage1.validate_every=1"))
WIDER = Change("a wider Stage 2", ("reranker.width=32",))


@pytest.fixture
def data(tmp_path: Path, write_towns: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> str:
    """Small facts, and a small configuration to start from."""
    base = tmp_path / "base.yaml"
    base.write_text(
        "stage1: {model: complex, rank: 8, batch: 60, epochs: 4, validate_every: 2}\n"
        "candidates: {k: 6, crossfit: {folds: 3, by: fact, epochs: 2}}\n"
        "reranker: {kind: wide, text: false, width: 8, heads: 2, epochs: 1, validate_facts: 10}\n"
    )
    monkeypatch.setattr(search, "BASE", base)
    monkeypatch.setattr(fitting, "changes_for", lambda _: [SHORT, WIDER])
    return str(write_towns(tmp_path / "towns"))


class Heard(list[Any]):
    """What `fit` tells of: trials, behind the profile."""

    @property
    def trials(self) -> list[Trial]:
        return [each for each in self if isinstance(each, Trial)]


def times(*seconds: float) -> Callable[[], float]:
    """A clock that reads these seconds, and then the last for ever."""
    left: Iterator[float] = iter(seconds)
    return lambda: next(left, seconds[-1])


class TestFit:
    def test_the_default_comes_first_and_every_change_is_judged(self, data: str, tmp_path: Path) -> None:
        heard = Heard()
        fitted = fit(data, tmp_path / "run", minutes=10, tell=heard.append)
        assert isinstance(heard[0], Profile)
        assert [trial.change for trial in heard.trials] == ["the default", SHORT.name, WIDER.name]
        assert heard.trials == fitted.trials
        first, *others = fitted.trials
        assert first.kept
        assert first.gain is None
        assert all(trial.gain is not None and trial.kept == (trial.gain[1] > 0) for trial in others)
        kept = [change for trial in fitted.trials if trial.kept for change in trial.overrides]
        assert fitted.overrides == list(dict.fromkeys(kept))

    def test_the_run_is_that_of_the_best_configuration(self, data: str, tmp_path: Path) -> None:
        fitted = fit(data, tmp_path / "run", minutes=10)
        again = run(load_config(search.BASE, [f"data={data}", *fitted.overrides]), tmp_path / "again")
        assert again.config == fitted.run.config
        assert open_run(tmp_path / "run").evaluate("test").summary() == again.evaluate("test").summary()

    def test_what_there_is_no_time_for_is_left_out_and_named(self, data: str, tmp_path: Path) -> None:
        heard, clock = Heard(), times(0, 0, 0, 0, 100)
        fitted = fit(data, tmp_path / "run", minutes=1, tell=heard.append, clock=clock)
        assert [trial.change for trial in heard.trials] == ["the default"]
        assert "a shorter Stage 1 (about 1 min), a wider Stage 2 (about 1 min)" in fitted.next_steps()
        assert fitted.overrides == []

    def test_what_a_change_takes_is_known_from_steps_like_those_it_needs(self, data: str, tmp_path: Path) -> None:
        costs = {"stage1": 7.0, "fold 0, stage1": 3.0, "fold 0, lists": 2.0}
        found = search.Search(search.Place(data, tmp_path / "run"), 0.0, lambda _: None, costs=costs)
        nothing = SimpleNamespace(has=lambda _: False)
        for name, seconds in {"text": 7, "fold 2, stage1": 3, "fold 2, text": 3, "fold 1, lists": 2}.items():
            plan: Any = SimpleNamespace(system=[Step(name, "", {}, lambda _: None)], store=nothing)
            assert found.expected(plan) == seconds

    def test_a_default_that_is_too_long_is_trained_for_a_shorter_time(
        self, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(search.Search, "seconds_of_an_epoch", lambda _: 1e6)
        fitted = fit(data, tmp_path / "run", minutes=10)
        assert f"stage1.epochs={search.SHORTEST}" in fitted.trials[0].overrides
        assert fitted.run.config.candidates.crossfit is not None
        assert fitted.run.config.candidates.crossfit.epochs == search.SHORTEST

    def test_a_search_that_has_ended_is_finished_as_it_was(self, data: str, tmp_path: Path) -> None:
        first, heard = fit(data, tmp_path / "run", minutes=10), Heard()
        again = fit(data, tmp_path / "run", minutes=20, tell=heard.append)
        assert heard == []
        assert again.found == first.found

    def test_a_change_that_takes_too_long_after_all_is_told_and_leaves_nothing(
        self, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        measured = search.Search.measured

        def slow(self: search.Search, plan: Any) -> Any:
            if self.trials:
                raise OutOfTime("too long")
            return measured(self, plan)

        monkeypatch.setattr(search.Search, "measured", slow)
        fitted = fit(data, tmp_path / "run", minutes=10)
        assert [trial.mrr is None for trial in fitted.trials] == [False, True, True]
        assert "left out" in fitted.trials[1].in_words
        assert fitted.overrides == []

    def test_a_kept_change_stays_below_the_next(
        self, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(search, "gain_over", lambda *_: (0.1, 0.05, 0.15))
        assert fit(data, tmp_path / "run", minutes=10).overrides == [*SHORT.overrides, *WIDER.overrides]

    def test_a_change_that_is_no_better_leaves_nothing(
        self, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(search, "gain_over", lambda *_: (0.1, -0.05, 0.25))
        assert fit(data, tmp_path / "run", minutes=10).overrides == []


class TestRefusals:
    def test_a_folder_with_another_run(self, data: str, tmp_path: Path) -> None:
        run(load_config(search.BASE, [f"data={data}"]), tmp_path / "run")
        with pytest.raises(ConfigError, match=r"holds a run that was not fitted\. Give another folder"):
            fit(data, tmp_path / "run", minutes=10)

    def test_a_folder_of_other_data(self, data: str, tmp_path: Path) -> None:
        fit(data, tmp_path / "run", minutes=10)
        with pytest.raises(ConfigError, match=r"was fitted to .*towns with seed 0"):
            fit("demo", tmp_path / "run", minutes=10)

    def test_too_little_time(self, data: str, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"0\.5 is too short"):
            fit(data, tmp_path / "run", minutes=0.5)


class TestProfile:
    def test_it_says_what_decides(self) -> None:
        names = ["Paris", "Q90", "Berlin", "/m/0156q"]
        entities = Vocabulary.from_ids("entity", ["a", "b", "c", "d"], names=names)
        relations = Vocabulary.from_ids("relation", ["near"])
        facts = {"train": np.array([[0, 0, 1], [2, 0, 3]]), "valid": np.array([[1, 0, 0], [0, 0, 3]])}
        found = Profile.of(KnowledgeBase("small", entities, relations, facts))
        assert (found.entities, found.relations, found.facts) == (4, 1, 2)
        assert (found.texts, found.linked, found.inverse) == (0.5, 0.5, 0.5)

    @pytest.mark.parametrize(
        ("texts", "linked", "facts", "there", "absent"),
        [
            (1.0, 0.3, 10**6, {"texts"}, {"folds by pair", "paths"}),
            (0.0, 0.0, 10**3, {"folds by pair", "paths"}, {"texts"}),
        ],
    )
    def test_changes_suit_it(self, texts: float, linked: float, facts: int, there: set[str], absent: set[str]) -> None:
        names = {change.name for change in changes_for(Profile(10, 2, facts, texts, linked, 0.0))}
        assert there <= names
        assert not absent & names


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_every_change_is_a_configuration(change: Change) -> None:
    changed = load_config("own", change.overrides)
    assert changed != load_config("own")


@pytest.mark.usefixtures("data")
def test_the_command_says_what_it_tried_and_what_it_chose(data: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["fit", data, "--minutes", "5", "--out", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert "the default: MRR" in result.output
    assert f"The same by hand: cear run own data={data}" in result.output
    assert json.loads((tmp_path / "run" / "fit.json").read_text())["trials"]
    assert (tmp_path / "run" / "test.json").exists()
