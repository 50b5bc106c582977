"""The folder of a run: whose it is, and what it says about itself.

runs/mine/
config.yaml    the whole configuration, defaults included
run.json       name and digest of the data, version of cear, where its steps are kept, and their keys
steps/         its steps, where they are not kept in a store that runs share
test.json      the record of the evaluation, with test.ranks.parquet beside it
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cear import __version__
from cear.config import RunConfig, dump_config, load_config
from cear.core.errors import MismatchError
from cear.core.files import read_json, replacing, write_json
from cear.data import KnowledgeBase
from cear.pipeline.plan import Plan
from cear.steps import Step

SCHEMA = 2  # of a run's folder; 1 had trainings in place of steps
RUN, CONFIG, STEPS = "run.json", "config.yaml", "steps"


def refuse_unfinished(folder: Path, plan: Plan, about: dict[str, Any]) -> None:
    """Raise `MismatchError` unless everything that a run is loaded from is kept."""
    step = _first_missing(plan)
    if step is None:
        return
    there = about["steps"].get(step.name)
    if there is None:
        raise MismatchError(
            f"{folder} holds no finished run: {step.name} is missing. It was interrupted: the same `cear run` "
            "continues it."
        )
    if there != step.key:
        raise MismatchError(
            f"The run in {folder} was made by another version of cear, whose {step.name} is not what this one would "
            "make. Run its command again: whatever has not changed is reused."
        )
    raise MismatchError(
        f"{folder} holds no finished run: its {step.name} is no longer in {about['store'] or plan.store.folder}. "
        "Name the store that has it (--store), or run the same `cear run` again."
    )


def _first_missing(plan: Plan) -> Step | None:
    """The first step that is not kept; those after the system are laid out only when it is there."""
    missing = [step for step in plan.system if not plan.store.has(step)]
    missing = missing or [step for step in plan.last if not plan.store.has(step)]
    return missing[0] if missing else None


def read_run(folder: Path) -> tuple[dict[str, Any], RunConfig]:
    """What a folder says about its run, and its configuration."""
    if not (folder / RUN).exists():
        raise MismatchError(f"{folder} holds no finished run. Make one with `cear run CONFIG --out FOLDER`.")
    about = read_json(folder / RUN)
    if about.get("schema") != SCHEMA:
        raise MismatchError(
            f"The run in {folder} was written by another version of cear (schema {about.get('schema', 1)}, this one "
            f"reads {SCHEMA}). Run its command again into another folder."
        )
    return about, load_config(folder / CONFIG)


def finish(out: Path, plan: Plan) -> None:
    """Write down which steps the finished run is loaded from."""
    write_json(out / RUN, _about(plan.kb, out, plan.store.folder, plan) | {"cost": _costs(plan)})


def _costs(plan: Plan) -> list[dict[str, Any]]:
    """What each step of the chain cost: the run knows it even when a store has forgotten a step."""
    chain = {each.key: each for step in plan.last for each in step.chain()}
    return [plan.store.report(step).as_json() for step in chain.values()]


def _about(kb: KnowledgeBase, out: Path, store: Path, plan: Plan | None) -> dict[str, Any]:
    """What a run's folder says about itself; steps by name and key when they are finished."""
    steps = {} if plan is None else {step.name: step.key for step in plan.last}
    own = store.resolve() == (out / STEPS).resolve()
    place = None if own else str(store.resolve())
    names = {"schema": SCHEMA, "data": kb.name, "digest": kb.digest, "version": __version__}
    return names | {"store": place, "steps": steps, "brought": {} if plan is None else plan.brought}


def claim(out: Path, config: RunConfig, kb: KnowledgeBase, store: Path) -> None:
    """Make `out` the folder of this configuration and knowledge base, or refuse if it is another's."""
    if (out / RUN).exists():
        about, there = read_run(out)
        refuse_other(out, "digest", about["digest"], kb.digest)
        refuse_other(out, "configuration", *_differing(there, config))
        return
    with replacing(out / CONFIG) as partial:
        partial.write_text(dump_config(config), encoding="utf-8")
    write_json(out / RUN, _about(kb, out, store, None))


def _differing(there: RunConfig, here: RunConfig) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings whose values differ, by dotted key; only those that decide the result are compared."""
    one, other = _flat(there.deciding()), _flat(here.deciding())
    keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]  # a stage may be there or not
    return {key: one.get(key) for key in keys}, {key: other.get(key) for key in keys}


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted key."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def refuse_other(folder: Path, what: str, there: object, here: object) -> None:
    """Raise `MismatchError` where a folder belongs to something else."""
    if there != here:
        raise MismatchError(
            f"The run in {folder} was made with another {what}:\n  there: {there}\n  here:  {here}\n"
            "Use another --out folder, or go back to what it was made with."
        )
