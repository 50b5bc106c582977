"""Stage 2 learns from one half of the validation facts, and the other half alone chooses."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from cear.candidates import CandidatesConfig, labels, read_lists
from cear.config import RunConfig, dump_config
from cear.core.errors import ConfigError, DataError
from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase, Vocabulary
from cear.pipeline import Run, open_run, run
from cear.pipeline.making import LISTS, load_validation
from cear.pipeline.parts import HalfOfValid

WIDE = {"kind": "wide", "text": False, "width": 8, "layers": 1, "heads": 1, "epochs": 2}


@pytest.fixture(scope="module")
def towns_folder(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> Path:
    return write_towns(tmp_path_factory.mktemp("data") / "towns")


def config_of(data: Path, **reranker: Any) -> RunConfig:
    values: dict[str, Any] = {"data": str(data), "seed": 1, "stage1": {"rank": 8, "batch": 60, "epochs": 4}}
    values |= {"candidates": {"k": 12, "learn_from": "valid"}, "reranker": WIDE | reranker}
    return RunConfig.model_validate(values)


@pytest.fixture(scope="module")
def done(towns_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(config_of(towns_folder), tmp_path_factory.mktemp("runs") / "valid")


def asked_by(kb: KnowledgeBase, facts: Ints) -> set[tuple[int, int]]:
    """Both questions of each fact."""
    s, r, o = facts.T
    return {*zip(s, r, strict=True), *zip(o, r + kb.n_relations, strict=True)}


def as_set(queries: Queries) -> set[tuple[int, int]]:
    return {*zip(queries.entity, queries.relation, strict=True)}


@pytest.fixture(params=range(5))
def half(request: pytest.FixtureRequest) -> HalfOfValid:
    """Of a knowledge base in which many facts share a question."""
    rng = np.random.default_rng(request.param)
    facts = np.unique(
        np.stack([rng.integers(12, size=90), rng.integers(2, size=90), rng.integers(12, size=90)], 1), axis=0
    )
    train, valid = np.split(rng.permutation(facts), [30])
    ids = [str(i) for i in range(12)]
    entities, relations = Vocabulary.from_ids("entity", ids), Vocabulary.from_ids("relation", ids[:2])
    return HalfOfValid(KnowledgeBase("dense", entities, relations, {"train": train, "valid": valid}), request.param)


class TestHalves:
    def test_no_question_is_learned_from_and_chosen_on(self, half: HalfOfValid) -> None:
        choosing = half.kb.facts("valid")[half.choosing]
        assert len(half.queries)
        assert not as_set(half.queries) & asked_by(half.kb, choosing)
        assert as_set(half.queries) <= asked_by(half.kb, half.kb.facts("valid"))

    def test_right_answers_are_those_of_train_and_of_the_half_to_learn_from(self, half: HalfOfValid) -> None:
        right = {*map(tuple, half.labelled.facts("train").tolist())}
        choosing = {*map(tuple, half.kb.facts("valid")[half.choosing].tolist())}
        assert (
            right == {*map(tuple, np.concatenate([half.kb.facts("train"), half.kb.facts("valid")]).tolist())} - choosing
        )

    def test_both_are_halves(self, half: HalfOfValid) -> None:
        assert 0.3 < len(half.choosing) / len(half.kb.facts("valid")) < 0.7


class TestRun:
    def test_there_are_no_folds(self, done: Run) -> None:
        names = [report.name for report in done.steps()]
        assert "lists of valid" in names
        assert not [name for name in names if name.startswith("fold")]

    def test_the_lists_are_of_the_half_to_learn_from_and_some_hold_an_answer(self, done: Run) -> None:
        plan = done.plan
        assert plan.half is not None
        ((_, step),) = plan.training_lists
        lists = read_lists(plan.store.get(step) / LISTS, plan.kb)
        assert as_set(lists.queries) == as_set(plan.half.queries)
        assert lists.manifest.split == "valid"
        assert labels(lists, plan.labelled.known("train")).any()
        assert not labels(lists, plan.kb.known("train")).any(), "known answers are dropped"

    def test_the_other_half_alone_chooses_and_measures(self, done: Run) -> None:
        plan = done.plan
        assert plan.half is not None
        facts = plan.kb.facts("valid")[plan.half.choosing]
        asked = asked_by(plan.kb, facts)
        assert as_set(load_validation(plan).asked.queries) == asked
        assert as_set(done.evaluate("valid").queries) == asked
        assert len(done.evaluate("valid", facts=2).queries) == 4
        assert len(done.evaluate("test").queries) == 24

    def test_it_opens_again(self, done: Run) -> None:
        assert open_run(done.folder).evaluate("test").summary() == done.evaluate("test").summary()

    def test_it_says_what_it_costs(self, towns_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING, "cear.pipeline"):
            finished = run(config_of(towns_folder), tmp_path / "run")
        half = finished.plan.half
        assert half is not None
        assert f"learns from {len(half.queries)} lists, and {len(half.choosing)} of 13 validation facts" in caplog.text

    def test_vectors_are_those_of_the_whole_stage_1(self, towns_folder: Path, tmp_path: Path) -> None:
        finished = run(config_of(towns_folder, vectors=True), tmp_path / "run")
        assert len(finished.evaluate("test").ranks) == 24

    def test_too_few_validation_facts_are_refused(self, write_towns: Callable[..., Path], tmp_path: Path) -> None:
        data = write_towns(tmp_path / "data", valid=[(0, 0, 25)])
        with pytest.raises(DataError, match=r"deals the 1 validation facts of .* into two halves"):
            run(config_of(data), tmp_path / "run")


class TestSettings:
    @pytest.mark.parametrize("other", [{"crossfit": {"folds": 3}}, {"lists": "mine.parquet"}])
    def test_another_way_to_learn_beside_it_is_refused(self, other: dict[str, Any]) -> None:
        (key,) = other
        with pytest.raises(ConfigError, match=f"learn_from: valid makes its own lists, without folds; leave {key} out"):
            CandidatesConfig.parse({"learn_from": "valid", **other}, source="here")

    def test_it_is_read_again_as_it_was_written(self, towns_folder: Path) -> None:
        config = config_of(towns_folder)
        assert config.candidates.crossfit is None
        assert RunConfig.parse(yaml.safe_load(dump_config(config)), source="again") == config

    def test_by_default_lists_are_of_folds(self) -> None:
        assert CandidatesConfig().crossfit is not None
        assert CandidatesConfig().learn_from == "train"
