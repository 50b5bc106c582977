"""Facts that look wrong: planted ones are found by those who never saw them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cear.config import RunConfig
from cear.core.context import HERE
from cear.core.errors import ConfigError
from cear.data import KnowledgeBase
from cear.pipeline import AuditPlan, Plan, Run
from cear.steps import Store

ONE_VALUE = ["born_in", "citizen_of", "works_for"]


@pytest.fixture(scope="module")
def found(people_run: Run) -> pl.DataFrame:
    return people_run.audit(10_000)


@pytest.fixture(scope="module")
def planted(people_facts: dict[str, Any]) -> list[tuple[str, str, str]]:
    wrong: list[tuple[str, str, str]] = people_facts["train"][-12:]
    assert {relation for _, relation, _ in wrong} == set(ONE_VALUE)
    return wrong


def rows(table: pl.DataFrame) -> list[tuple[str, str, str]]:
    return table.select("subject", "relation", "object").rows()  # type: ignore[return-value]


class TestAudit:
    def test_every_training_fact_is_judged_the_least_likely_first(
        self, found: pl.DataFrame, people_facts: dict[str, Any]
    ) -> None:
        assert sorted(rows(found)) == sorted(people_facts["train"])
        assert found["probability"].is_sorted()
        assert set(found["known"]) == {"train"}

    def test_planted_facts_are_among_the_least_likely(
        self, found: pl.DataFrame, planted: list[tuple[str, str, str]]
    ) -> None:
        like_these = rows(found.filter(pl.col("relation").is_in(ONE_VALUE)))
        places = np.array([like_these.index(fact) for fact in planted]) / len(like_these)
        assert np.median(places) < 0.1
        assert (places < 0.2).sum() >= 9, "of 12, where chance has 2 or 3"

    def test_other_values_of_such_a_relation_are_told(
        self, found: pl.DataFrame, planted: list[tuple[str, str, str]]
    ) -> None:
        told = dict(zip(rows(found), found["contradicts"], strict=True))
        for subject, relation, value in planted:
            (right,) = [o for s, r, o in told if (s, r) == (subject, relation) and o != value]
            assert told[subject, relation, value] == right
            assert told[subject, relation, right] == value
        assert len([each for each in told.values() if each]) == 24, "and of no other, though people speak two languages"

    def test_who_never_saw_a_fact_says_what_it_expects_instead(self, found: pl.DataFrame) -> None:
        instead = found.filter(pl.col("instead").is_not_null())
        assert len(instead) > 100
        assert (instead["instead"] != instead["object_name"]).all()

    def test_so_many_and_why(self, people_run: Run, found: pl.DataFrame) -> None:
        few = people_run.audit(3, why=True)
        assert rows(few) == rows(found)[:3]
        assert few["reasons"].is_not_null().all()

    def test_folds_share_no_fact_and_no_system_has_seen_its_own(self, people_run: Run) -> None:
        steps = AuditPlan(people_run.plan)
        held_out = [{tuple(fact) for fact in fold.held_out.tolist()} for fold in steps.folds]
        train = {tuple(fact) for fact in people_run.kb.facts("train").tolist()}
        assert set.union(*held_out) == train
        assert sum(map(len, held_out)) == len(train)
        for fold, mine in zip(steps.folds, held_out, strict=True):
            learned = {tuple(fact) for fact in steps.ranker(fold).kb.facts("train").tolist()}
            assert learned == train - mine
            (names,) = [step.chain() for step in [steps.step(fold)]]
            lists = {step.name for step in names if step.kind == "lists"}
            assert lists, "Stage 2 has learned from some"
            assert f"fold {fold.number}, lists" not in lists


class TestRefused:
    @pytest.mark.parametrize(
        "settings",
        [
            {"candidates": {"crossfit": None, "known": "keep"}},
            {"candidates": {"crossfit": {"folds": 2}}, "reranker": {"kind": "wide", "text": False, "vectors": True}},
        ],
        ids=["without folds", "with vectors"],
    )
    def test_where_some_part_has_seen_every_fact(
        self, towns: KnowledgeBase, tmp_path: Path, settings: dict[str, Any]
    ) -> None:
        config = RunConfig.model_validate({"stage1": {"rank": 4}, **settings})
        steps = AuditPlan(Plan(config, towns, Store(tmp_path, context=HERE), HERE))
        with pytest.raises(ConfigError, match=r"models that never saw them: it needs candidates.crossfit"):
            steps.audit()
        assert [*tmp_path.iterdir()] == [], "before anything is trained"
