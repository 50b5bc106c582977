"""The folder of a run: whose it is, and what it says about itself.

runs/mine/
config.yaml    the whole configuration, defaults included
run.json       name and digest of the data, version of cear, where its steps are kept, and their keys; sealed, with the
               digest of config.yaml
steps/         its steps, where they are not kept in a store that runs share
test.json      the record of the evaluation, with test.ranks.parquet beside it
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cear import __version__
from cear.config import RunConfig, dump_config, load_config
from cear.core.errors import CearError, DataError, MismatchError
from cear.core.files import file_digest, replacing
from cear.core.records import from_json
from cear.core.seals import read_sealed, write_sealed
from cear.data import KnowledgeBase
from cear.pipeline.plan import Plan
from cear.steps import Place, Step

log = logging.getLogger("cear.pipeline")

SCHEMA = 2  # of a run's folder; 1 had trainings in place of steps
RUN, CONFIG, STEPS = "run.json", "config.yaml", "steps"


@dataclass(frozen=True)
class _About:
    """The fields of run.json, for whoever reads one that he has not written."""

    schema: int
    data: str
    digest: str
    version: str
    store: str | None
    steps: dict[str, str]
    brought: dict[str, str] = field(default_factory=dict)
    cost: list[dict[str, Any]] = field(default_factory=list)
    config: str | None = None
    """The digest of config.yaml; earlier versions did not write it down."""


def refuse_unfinished(folder: Path, plan: Plan, about: dict[str, Any]) -> None:
    """Raise a `CearError` unless everything that a run is loaded from is kept, and whole."""
    store = plan.store
    step = next((step for step in _needed(plan) if store.flaw(step) is not None or not store.has(step)), None)
    if step is None:
        return
    if (damage := store.flaw(step)) is not None:
        raise DataError(
            f"The run in {folder} is damaged: of its {step.name}, {damage}. Run the same `cear run` again: it makes "
            "this step anew and reuses all that is whole."
        )
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
    where = about["store"] or plan.store.home
    unasked = " (an address is asked only if you have named it on this machine, too)" if "://" in str(where) else ""
    raise MismatchError(
        f"{folder} holds no finished run: its {step.name} is no longer in {where}{unasked}. Name the store that has it "
        "(--store), or run the same `cear run` again."
    )


def _needed(plan: Plan) -> Iterator[Step]:
    """What a run is loaded from; what comes after the system can be laid out only when that is there."""
    yield from plan.system
    yield from plan.last


def read_run(folder: Path) -> tuple[dict[str, Any], RunConfig]:
    """What a folder says about its run, and its configuration."""
    if not (folder / RUN).exists():
        raise MismatchError(f"{folder} holds no finished run. Make one with `cear run CONFIG --out FOLDER`.")
    about = _read_about(folder)
    return about, _read_config(folder, about.get("config"))


def _read_about(folder: Path) -> dict[str, Any]:
    about = read_sealed(folder / RUN)
    if about.get("schema") != SCHEMA:
        raise MismatchError(
            f"The run in {folder} was written by another version of cear (schema {about.get('schema', 1)}, this one "
            f"reads {SCHEMA}). Run its command again into another folder."
        )
    from_json(_About, about, folder / RUN)
    return about


def _read_config(folder: Path, digest: str | None) -> RunConfig:
    """The configuration of a run, which must be what it was made with."""
    path = folder / CONFIG
    if digest is None or (path.is_file() and file_digest(path) == digest):
        return load_config(path)
    try:
        load_config(path)
    except CearError as error:
        raise DataError(
            f"{path} is damaged: {error}\nRun the same `cear run` again: it writes the file anew, and all steps are "
            "reused."
        ) from error
    raise MismatchError(
        f"{path} was changed after the run was made: it no longer says what was trained. Put it back, which the same "
        f"`cear run` as before does, or run it as it is now into another folder: `cear run {path} --out OTHER`."
    )


def finish(out: Path, plan: Plan) -> None:
    """Write down which steps the finished run is loaded from."""
    write_sealed(out / RUN, _about(plan.kb, out, plan.store.home, plan) | {"cost": _costs(plan)})


def _costs(plan: Plan) -> list[dict[str, Any]]:
    """What each step of the chain cost: the run knows it even when a store has forgotten a step."""
    chain = {each.key: each for step in plan.last for each in step.chain()}
    return [plan.store.report(step).as_json() for step in chain.values()]


def _about(kb: KnowledgeBase, out: Path, store: Place, plan: Plan | None) -> dict[str, Any]:
    """What a run's folder says about itself; steps by name and key when they are finished."""
    steps = {} if plan is None else {step.name: step.key for step in plan.last}
    here = store.resolve() if isinstance(store, Path) else store
    place = None if here == (out / STEPS).resolve() else str(here)
    names = {"schema": SCHEMA, "data": kb.name, "digest": kb.digest, "version": __version__}
    names |= {"config": file_digest(out / CONFIG)}
    return names | {"store": place, "steps": steps, "brought": {} if plan is None else plan.brought}


def claim(out: Path, config: RunConfig, kb: KnowledgeBase, store: Place) -> None:
    """Make `out` the folder of this configuration and knowledge base, or refuse if it is another's."""
    if (out / RUN).exists():
        _mend_config(out, config)
        about, there = read_run(out)
        refuse_other(out, "digest", about["digest"], kb.digest)
        refuse_other(out, "configuration", *_differing(there, config))
        return
    _write_config(out, dump_config(config))
    write_sealed(out / RUN, _about(kb, out, store, None))


def _mend_config(out: Path, config: RunConfig) -> None:
    """Write config.yaml anew where it is not what the run was made with, and this configuration is."""
    text, path = dump_config(config), out / CONFIG
    known, here = _read_about(out).get("config"), hashlib.sha256(text.encode()).hexdigest()
    if here == known and not (path.is_file() and file_digest(path) == known):
        log.warning("%s was not what the run was made with, and is written anew.", path)
        _write_config(out, text)


def _write_config(out: Path, text: str) -> None:
    with replacing(out / CONFIG) as partial:
        partial.write_text(text, encoding="utf-8")


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
