"""From a configuration to a run, and from a folder to one that is finished."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

from cear import data
from cear.config import RunConfig
from cear.core.context import Context, Deadline
from cear.core.devices import resolve
from cear.core.ending import temporary_folder
from cear.core.errors import ConfigError, DataError
from cear.core.files import remove_leftovers
from cear.core.places import can_write
from cear.core.progress import Progress, silent
from cear.core.threads import use_threads
from cear.data import KnowledgeBase, cache_root, is_here, is_named
from cear.pipeline.arguments import refuse_run
from cear.pipeline.curves import CURVES, Curves
from cear.pipeline.finished import Run
from cear.pipeline.folder import RUN, STEPS, claim, finish, read_run, refuse_other, refuse_unfinished
from cear.pipeline.packing import at_hand, data_of, vectors_of
from cear.pipeline.plan import Plan
from cear.pipeline.recipe import Elsewhere, Recipe
from cear.retrieval import Holders
from cear.steps import Address, Place, StepReport, Store, holds_steps, located


def run(
    config: RunConfig,
    out: Path | str,
    *,
    store: Path | str | Address | None = None,
    minutes: float | None = None,
    download: bool = False,
    ranking_minutes: float | None = None,
    on: Elsewhere | None = None,
    progress: Progress = silent,
) -> Run:
    """Train what the configuration says; continues if it was interrupted, and reuses every step that is kept.

    Steps are kept in `store`, a folder or an address that machines share, such as s3://bucket/steps: by default in the
    user's cache for a named data set, and inside `out` for your own.
    `minutes` limits this call: a training that is not done by then is saved and raises `OutOfTime`; the same call
    goes on from there, to the same result. `download` allows what is not on this machine to be fetched. A ranking that
    a slow retriever would need more than `ranking_minutes` for raises `TooSlow` before it starts. `on` has the steps
    made elsewhere, as `cear.cluster.ray_at` does, to the same result.
    """
    limits = {"minutes": minutes, "ranking_minutes": ranking_minutes}
    plan = lay_out(config, out, store=store, download=download, on=on, progress=progress, **limits)
    out = Path(out)
    plan.preflight()
    remove_leftovers(out)
    claim(out, config, plan.kb, plan.store.home)
    plan.store.get_all(plan.system)
    plan.store.get_all(plan.last)  # which can be laid out only when the system is there
    finish(out, plan)
    Curves(out / CURVES).complete(plan)
    return Run(out, plan)


def lay_out(
    config: RunConfig,
    out: Path | str,
    *,
    store: Path | str | Address | None = None,
    minutes: float | None = None,
    download: bool = False,
    ranking_minutes: float | None = None,
    on: Elsewhere | None = None,
    progress: Progress = silent,
) -> Plan:
    """The steps of a configuration, none of them made yet; the arguments are those of `run`."""
    refuse_run(config, minutes, ranking_minutes)
    seed = _one_seed(config)
    use_threads(config.threads)
    kb = _load(config, config.data, download=download)
    _refuse_no_valid(kb)
    context = Context(
        seed=seed,
        device=resolve(config.device),
        precision=config.precision,
        accumulate=config.accumulate,
        deadline=Deadline.after(minutes),
        progress=progress,
        watch=Curves(Path(out) / CURVES).add,
        download=download,
    )
    kept = located(store) if store is not None else default_store(config, Path(out))
    told = {"download": download, "ranking_minutes": ranking_minutes}
    recipe = partial(Recipe.of_run, config, Path(out), kept, kb, context, **told)
    made = Store(kept, context=context, executor=None if on is None else on(recipe(), context))
    return Plan(config, kb, made, context, ranking_minutes=ranking_minutes)


def open_run(
    folder: Path | str,
    *,
    source: str | None = None,
    store: Path | str | Address | None = None,
    int8: bool = False,
    ranking_minutes: float | None = None,
    on: Elsewhere | None = None,
    holders: Holders | None = None,
    progress: Progress = silent,
) -> Run:
    """The finished run in a folder, or packed in a file; `source` says where its data is now, and `store` its steps.

    `int8` answers with a re-ranker of 8-bit weights: faster, and a little off. `ranking_minutes` and `on` are as in
    `run`; `progress` shows steps that are made now, such as those of a completion. `holders` hold the entities of its
    retrievers in parts, as those of `cear.cluster.parts_at` do, where this process has no room for them.
    """
    folder = at_hand(Path(folder))
    about, config = read_run(folder)
    use_threads(config.threads)
    kb = _data_of(folder, about["data"], config, source)
    refuse_other(folder, "digest", about["digest"], kb.digest)
    if int8 and config.reranker is None:
        raise ConfigError(f"The run in {folder} has no second stage, which is what int8 is for. Leave int8 out.")
    context = Context(
        seed=_one_seed(config),
        device=resolve(config.device),
        precision=config.precision,
        progress=progress,
        vectors=vectors_of(folder),
    )
    places = _places(folder, store, about["store"])
    told = {"source": source, "int8": int8, "ranking_minutes": ranking_minutes}
    recipe = partial(Recipe.of_finished, folder, places[0], kb, context, **told)
    kept = Store(places[0], others=places[1:], context=context, executor=None if on is None else on(recipe(), context))
    plan = Plan(
        config,
        kb,
        kept,
        context,
        about.get("brought", {}),
        holders=holders,
        int8=int8,
        ranking_minutes=ranking_minutes,
    )
    refuse_unfinished(folder, plan, about)
    if int8:
        plan.ranker  # noqa: B018 - loads it, and so refuses now what has no 8-bit weights
    cost = [StepReport.from_json(values, folder / RUN) for values in about.get("cost", ())]
    return Run(folder, plan, {report.key: report for report in cost})


def _places(folder: Path, given: Path | str | Address | None, named: str | None) -> list[Place]:
    """Where the steps of a finished run may be; new ones are made in the first.

    A run may come from anybody: a folder that it names itself is written into only if it is a store already, and an
    address is asked only if somebody on this machine has named it before. Where the first is read-only, new ones are
    made in the user's cache, or for as long as this process lives.
    """
    own: Place = folder / STEPS
    first = [] if given is None else [located(given)]
    there = [] if named is None or located(named) in first else [located(named)]
    there = [each for each in there if isinstance(each, Path) or each.is_known]
    if first:
        return [*first, *there, own]
    places = [*there, own] if all(map(_is_store, there)) else [own, *there]
    return places if _can_write(places[0]) else [*_spare_places(), *places]


def _is_store(place: Place) -> bool:
    return not isinstance(place, Path) or holds_steps(place)


def _can_write(place: Place) -> bool:
    return not isinstance(place, Path) or can_write(place)


def _spare_places() -> list[Place]:
    """A folder that steps can be made in when those of a run are read-only; none where nothing can be written."""
    shared = cache_root() / STEPS
    if can_write(shared):
        return [shared]
    with suppress(OSError):
        return [temporary_folder("cear-steps-")]
    return []


def _data_of(folder: Path, name: str, config: RunConfig, source: str | None) -> KnowledgeBase:
    """The data of a finished run: where it is said to be, or in its folder, or where it was."""
    kept = data_of(folder, name) if source is None else None
    if kept is not None:
        return kept
    if source is None and not is_here(config.data):
        raise DataError(
            f"The data of the run in {folder} is no longer at {config.data!r}. Say where it is now: `--data PATH`, in "
            'Python `source="PATH"`. `cear pack` makes a run that has its data with it.'
        )
    return _load(config, source or config.data)


def default_store(config: RunConfig, out: Path) -> Path:
    """Where steps are kept: with those of all runs on a named data set, or in the run's own folder."""
    return cache_root() / STEPS if is_named(config.data) else out / STEPS


def _load(config: RunConfig, source: str, *, download: bool = False) -> KnowledgeBase:
    """The knowledge base of a configuration; data that has moved is read by the rules of what it is a copy of."""
    return data.load(
        source,
        like=config.data,
        text=config.text,
        skip_bad_lines=config.skip_bad_lines,
        variant=config.variant,
        seed=config.split.seed,
        valid_share=config.split.valid,
        test_share=config.split.test,
        columns=config.columns,
        rdf=config.rdf,
        download=download,
    )


def _one_seed(config: RunConfig) -> int:
    if len(config.seeds) != 1:
        raise ConfigError(f"seed: {config.seed} are several runs: `cear run` makes them all, `cear.run` takes one.")
    return config.seeds[0]


def _refuse_no_valid(kb: KnowledgeBase) -> None:
    if not len(kb.facts("valid")):
        raise DataError(
            f"{kb.name!r} has no valid facts, and they choose the model. Put some into its valid file, "
            "or give all facts as one file: it is split for you."
        )
