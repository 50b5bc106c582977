"""Experiments of the study: made once, made again when their inputs change, drawn from what they found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cear.reports import to_markdown
from cear.study import Making, page, parts
from cear.study.attending import QUESTIONS, Question
from cear.study.experiments import Experiment
from cear.study.leaking import LEAKS
from cear.study.making import missing


@dataclass
class Counting(Experiment):
    """An experiment that counts how often it is made."""

    given: dict[str, Any] | None = field(default_factory=lambda: {"a": 1})
    times: int = 0

    @property
    def name(self) -> str:
        return "counting"

    def inputs(self) -> dict[str, Any] | None:
        return self.given

    def find(self, making: Making) -> dict[str, Any]:  # noqa: ARG002
        self.times += 1
        return {"data": "none", "digest": "0", "times": self.times}


class TestExperiment:
    @pytest.fixture(autouse=True)
    def _somewhere_else(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def test_it_is_made_once(self) -> None:
        experiment = Counting()
        for _ in range(2):
            experiment.make(Making(), "cear reproduce x")
        assert experiment.times == 1
        assert experiment.found() == {"data": "none", "digest": "0", "times": 1}

    def test_other_inputs_make_it_again(self) -> None:
        experiment = Counting()
        experiment.make(Making(), "cear reproduce x")
        experiment.given = {"a": 2}
        assert experiment.found() is None
        experiment.make(Making(), "cear reproduce x")
        assert experiment.times == 2

    def test_without_its_inputs_it_waits(self) -> None:
        experiment = Counting(given=None)
        experiment.make(Making(), "cear reproduce x")
        assert experiment.times == 0
        assert not experiment.path.exists()

    def test_it_says_where_it_comes_from(self) -> None:
        experiment = Counting()
        experiment.make(Making(), "cear reproduce x")
        made = json.loads(experiment.path.read_text())["provenance"]
        assert (made["command"], made["config"]) == ("cear reproduce x", {"a": 1})


class TestAttention:
    @pytest.fixture
    def question(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_towns: Callable[..., Path]) -> Question:
        monkeypatch.chdir(tmp_path)
        data = write_towns(tmp_path / "towns").relative_to(tmp_path)
        path = Path("configs/wn18rr/attention/wide.yaml")
        path.parent.mkdir(parents=True)
        path.write_text(
            f"# Command: cear run {path} --out runs/attention/wide --json results/attention/wide.json\n"
            f"data: {data}\nstage1: {{model: complex, rank: 6, batch: 20, epochs: 1}}\n"
            "candidates: {k: 5, crossfit: {folds: 4, by: fact}}\nfusion: none\n"
            "reranker: {kind: wide, text: false, width: 8, heads: 2, epochs: 1, validate_facts: 10}\n"
        )
        return Question("wn18rr", "wide", "raw", "flagged")

    def test_its_arms_differ_in_attention_alone(self, question: Question) -> None:
        cross, independent = (arm.settings for arm in question.arms)
        assert cross.reranker is not None
        assert independent.reranker is not None
        assert (cross.reranker.attention, independent.reranker.attention) == ("cross", "independent")
        assert cross.reranker.model_copy(update={"attention": "independent"}) == independent.reranker
        assert cross.candidates == independent.candidates

    def test_what_a_candidate_is_told_is_the_same_in_both(self, question: Question) -> None:
        for arm in question.arms:
            settings = arm.settings
            assert settings.reranker is not None
            assert (settings.reranker.list_inputs, settings.reranker.flag_known) == (False, True)
            assert settings.candidates.known == "keep"

    def test_seeds_are_those_of_the_second_stage(self, question: Question) -> None:
        settings = question.arms[0].with_seed(2).settings
        assert settings.reranker is not None
        assert (settings.seed, settings.reranker.seed) == (0, 2)

    def test_its_findings_are_of_both_arms_and_are_drawn(self, question: Question) -> None:
        assert question.found() is None
        for cell in missing(arm.with_seed(seed) for arm in question.arms for seed in (0, 1)):
            Making().make(cell)
        question.make(Making(), "cear reproduce attention")
        found = question.found()
        assert found is not None
        assert found["seeds"] == [0, 1]
        assert found["all"]["queries"] == 24
        text = to_markdown(page(parts(["attention"]), "cpu", Path("results/study/cpu")))
        row = next(
            line for line in text.splitlines() if "wide, WN18RR, raw scores alone, known answers flagged" in line
        )
        assert f"{found['all']['mrr']['p']:.4f}".lstrip("0") in row

    def test_every_question_is_asked_of_both_data_sets(self) -> None:
        asked = {(each.reader, each.inputs_of, each.known): set() for each in QUESTIONS}
        for each in QUESTIONS:
            asked[each.reader, each.inputs_of, each.known].add(each.data)
        assert all(data == {"fb15k-237", "wn18rr"} for data in asked.values())


class TestLeak:
    def test_it_waits_for_its_configuration(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert all(leak.inputs() is None for leak in LEAKS)

    def test_no_leaky_reader_sees_the_graph(self) -> None:
        assert not any(leak.settings.settings_key()["reranker"].get("graph") for leak in LEAKS)
