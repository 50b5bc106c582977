"""The plan of a recipe, laid out by another process than the one that wrote it, and its steps by their names there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from cear import __version__
from cear.config import RunConfig
from cear.core.errors import MismatchError
from cear.core.machine import code_digest
from cear.core.records import from_json
from cear.core.threads import use_threads
from cear.core.watching import unwatched
from cear.pipeline.auditing import AuditPlan
from cear.pipeline.completion_plan import Asking
from cear.pipeline.opening import lay_out, open_run
from cear.pipeline.parts import Everything, Part, Whole
from cear.pipeline.plan import Plan
from cear.pipeline.recipe import Recipe
from cear.steps import Job, Step

SAME = "Install the same cear on all machines: another may make another result."


def plan_of(recipe: Recipe) -> Plan:
    """The plan of a recipe; refused where cear, the data or the device of this process is another."""
    _refuse("version", recipe.version, __version__, SAME)
    _refuse("code", recipe.code, code_digest(), SAME)
    if Path(recipe.folder).is_dir():
        os.chdir(recipe.folder)
    use_threads(recipe.threads)
    plan = _laid_out(recipe)
    _refuse("data", recipe.digest, plan.kb.digest, "Give all machines the same files.")
    _refuse("device", recipe.device, plan.context.device, "Set device to one that all machines have.")
    return replace(plan, context=replace(plan.context, watch=unwatched))  # one process keeps the curves of a run


def _laid_out(recipe: Recipe) -> Plan:
    both: dict[str, Any] = {"store": recipe.store, "ranking_minutes": recipe.ranking_minutes}
    if recipe.config is None:
        return open_run(recipe.run, source=recipe.source, int8=recipe.int8, **both).plan
    config = RunConfig.parse(recipe.config, source="the recipe of a run")
    return lay_out(config, recipe.run, minutes=recipe.minutes_left, download=recipe.download, **both)


def _refuse(what: str, there: str, here: str, advice: str) -> None:
    if there != here:
        raise MismatchError(
            f"This machine cannot make steps of the run: its {what} is {here[:12]}, and {there[:12]} where the run "
            f"was started. {advice}"
        )


@dataclass(frozen=True)
class Order:
    """Which step of a plan is to be made, in values of JSON."""

    name: str
    """For people."""
    kind: str
    settings: dict[str, Any]
    """Of what was asked for."""
    key: str
    """Of the step, among those that this is made from."""
    piece: str | None = None
    """Of a piece of that step, if a piece is to be made."""

    @classmethod
    def of(cls, job: Job) -> Self:
        """The order of a job."""
        step, piece = (job.step, None) if job.whole is None else (job.whole, job.step.key)
        return cls(job.step.name, job.target.kind, dict(job.target.settings), step.key, piece)

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """The order that `as_json` gave."""
        return from_json(cls, values, "the order of a step")

    def as_json(self) -> dict[str, Any]:
        """The order as a value of JSON."""
        return asdict(self)


def find(plan: Plan, order: Order) -> Step:
    """The step of a plan that is ordered; refused where this plan has none such."""
    for asked in _asked_for(plan, order.kind, order.settings):
        found = _with_key(order.key, [each for step in asked for each in step.chain()])
        if found is not None and order.piece is not None:
            found = _with_key(order.piece, found.cut())
        if found is not None:
            return found
    raise MismatchError(
        f"{order.name} is no step of the plan that this machine lays out ({order.key[:12]}): plug-ins or files that "
        f"the configuration names differ from those where the run was started. {SAME}"
    )


def _asked_for(plan: Plan, kind: str, settings: Mapping[str, Any]) -> Iterator[Sequence[Step]]:
    """What can be asked for of this kind: by its settings, or what a run is made of, in the order of its making."""
    match kind:
        case "evaluation":
            protocol = settings.get("protocol", "ours")
            yield [plan.evaluation(settings["split"], settings["ties"], settings["facts"], protocol)]
        case "proposals":
            yield [plan.completion.proposals(_part(plan, settings["seen"]), _asking(**settings["asked"]))]
        case "audit":
            steps = AuditPlan(plan)
            yield [steps.step(fold) for fold in steps.folds if fold.key == settings["seen"]]
        case _:
            yield plan.system
            yield plan.last
            yield [plan.completion.calibration]


def _part(plan: Plan, key: Any) -> Part:
    return Whole(plan.kb) if key == Whole(plan.kb).key else Everything(plan.kb)


def _asking(questions: int, relations: Sequence[int] | None, subjects: Sequence[int] | None) -> Asking:
    return Asking(questions, *(None if each is None else tuple(each) for each in (relations, subjects)))


def _with_key(key: str, steps: Sequence[Step]) -> Step | None:
    return next((step for step in steps if step.key == key), None)
