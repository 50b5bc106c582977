"""A plan laid out again from a recipe: every step is found there by its order, and another machine is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from cear.core.context import HERE, Context, Deadline
from cear.core.errors import MismatchError
from cear.pipeline import AuditPlan, Order, Plan, Recipe, Run, find, lay_out, plan_of
from cear.pipeline.completion_plan import Asking
from cear.pipeline.parts import Everything, Whole
from cear.steps import Job, Step


@pytest.fixture(autouse=True)
def _in_the_same_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(os.getcwd())  # whoever lays out a plan goes to where its paths start


@pytest.fixture
def recipe(people_run: Run) -> Recipe:
    """How another process would lay out the plan of the run."""
    plan, out = people_run.plan, people_run.folder
    made = Recipe.of_run(plan.config, out, plan.store.folder, plan.kb, plan.context)
    return Recipe.from_json(json.loads(json.dumps(made.as_json())))


def asked_for(plan: Plan) -> Iterator[Step]:
    """One of everything that a run, a completion and an audit ask for."""
    yield from plan.last
    yield plan.evaluation("valid", "expected", 20)
    yield plan.evaluation("test", "best", None, "care")
    yield plan.completion.proposals(Whole(plan.kb), Asking(30, relations=(1, 2)))
    yield plan.completion.proposals(Everything(plan.kb), Asking(30, subjects=(4,)))
    yield AuditPlan(plan).step(AuditPlan(plan).folds[1])


def orders(target: Step) -> Iterator[tuple[Step, Order]]:
    """All that is made for a step, pieces too, and its order after a journey as JSON."""
    for each in target.chain():
        jobs = [Job(each, target), *(Job(piece, target, each) for piece in each.cut())]
        for job in jobs:
            yield job.step, Order.from_json(json.loads(json.dumps(Order.of(job).as_json())))


@pytest.fixture(scope="module")
def again(people_run: Run) -> Plan:
    """The same plan, laid out by somebody else."""
    return lay_out(people_run.config, people_run.folder, store=people_run.plan.store.folder)


class TestFind:
    def test_every_step_and_piece_is_found_by_its_order(self, people_run: Run, again: Plan) -> None:
        kinds = set()
        for target in asked_for(people_run.plan):
            for step, order in orders(target):
                assert find(again, order).key == step.key, step.name
                kinds.add(step.kind)
        assert {"retriever-complex", "lists", "reranker-wide", "asked", "evaluation", "audit", "calibration"} <= kinds

    def test_a_step_that_this_plan_does_not_have_is_refused(self, again: Plan) -> None:
        order = Order.of(Job(again.fusion, again.fusion))
        with pytest.raises(MismatchError, match="fusion is no step of the plan that this machine lays out"):
            find(again, replace(order, key="0" * 64))


class TestPlanOf:
    def test_it_has_the_same_steps_in_the_same_store(self, people_run: Run, recipe: Recipe) -> None:
        plan = plan_of(recipe)
        assert [step.key for step in plan.last] == [step.key for step in people_run.plan.last]
        assert plan.store.has(plan.fusion)

    def test_that_of_a_finished_run_needs_no_configuration(self, people_run: Run) -> None:
        plan = people_run.plan
        recipe = Recipe.of_finished(people_run.folder, plan.store.folder, plan.kb, plan.context)
        assert plan_of(recipe).fusion.key == plan.fusion.key

    def test_it_uses_as_many_threads_as_where_the_run_was_started(self, recipe: Recipe) -> None:
        before = torch.get_num_threads()
        try:
            plan_of(replace(recipe, threads=3, config={**(recipe.config or {}), "threads": None}))
            assert torch.get_num_threads() == 3
        finally:
            torch.set_num_threads(before)

    @pytest.mark.parametrize("what", ["version", "code", "device", "data"])
    def test_another_machine_is_refused(self, recipe: Recipe, what: str) -> None:
        field = {"data": "digest"}.get(what, what)
        other: dict[str, Any] = {field: "another"}
        with pytest.raises(MismatchError, match=f"its {what} is .*, and another where the run was started"):
            plan_of(replace(recipe, **other))

    def test_time_is_over_at_the_same_moment_everywhere(self, people_run: Run) -> None:
        def minutes(context: Context) -> float | None:
            plan = people_run.plan
            return Recipe.of_run(plan.config, Path("x"), Path("y"), plan.kb, context).minutes_left

        assert minutes(HERE) is None
        assert minutes(replace(HERE, deadline=Deadline.after(5))) == pytest.approx(5, abs=0.1)
        assert minutes(replace(HERE, deadline=Deadline.after(-1))) == 0
