"""A finished run that can be moved: packed into one file with its data, and opened from that file."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from cear.core.ending import temporary_folder
from cear.core.errors import DataError, MismatchError
from cear.core.files import partial_of, remove_leftovers
from cear.core.places import can_write
from cear.core.seals import read_sealed, write_sealed
from cear.data import KnowledgeBase, cache_root, read_kept, write_kept
from cear.pipeline.bundle import CONFIG, DATA, LIST, RUN, STEPS, VECTORS, first_damaged, read_list, unpack, write_bundle
from cear.pipeline.finished import Run
from cear.pipeline.parts import Everything, Whole
from cear.pipeline.plan import Plan
from cear.steps import Step

log = logging.getLogger("cear.pipeline")

UNPACKED = "runs"  # the folder in the user's cache


def pack(run: Run, file: Path | str, *, everything: bool = False) -> list[str]:
    """Write a finished run with its data and all that it is loaded from as one file; gives back what it holds.

    `everything` takes along all steps that are kept, also those that only trained others: an audit begins from them.
    """
    file = Path(file)
    if file.is_dir():
        raise DataError(f"{file} is a folder. Name the file that the run is packed into, such as {file / 'run.cear'}.")
    with tempfile.TemporaryDirectory(prefix="cear-pack-") as place:
        made = Path(place)
        shutil.copyfile(run.folder / CONFIG, made / CONFIG)
        write_sealed(made / RUN, read_sealed(run.folder / RUN) | {"store": None})  # a place on this machine
        write_kept(made / DATA, run.plan.kb)
        plan = replace(run.plan, context=replace(run.plan.context, vectors=made / VECTORS))
        plan.ranker  # noqa: B018 - loads it: what the encoder has read is put into the folder
        files = {path.relative_to(made).as_posix(): path for path in made.rglob("*") if path.is_file()}
        files |= dict(_files_of(run.plan, everything=everything))
        write_bundle(file, files)
    _tell_outside(plan)
    return sorted(files)


def _files_of(plan: Plan, *, everything: bool) -> Iterator[tuple[str, Path]]:
    """The files of the steps to take along, by their names in the bundle."""
    for step in _steps_of(plan, everything=everything):
        folder = plan.store.get(step)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                yield f"{STEPS}/{step.kind}/{folder.name}/{path.relative_to(folder).as_posix()}", path


def _steps_of(plan: Plan, *, everything: bool) -> list[Step]:
    """What a run is loaded from, and of what can be made from that, what is kept."""
    steps, kb = plan.completion, plan.kb
    made = [steps.expectation, steps.calibration, plan.evaluation("test", "expected", None)]
    parts = (Whole(kb), Everything(kb)) if plan.config.refit else (Whole(kb),)
    made += [steps.proposals(part, steps.asking) for part in parts]
    chosen = {step.key: step for step in plan.last}
    chosen |= {step.key: step for step in made if plan.store.has(step)}
    if everything:
        chain = {each.key: each for step in chosen.values() for each in step.chain()}
        chosen |= {key: step for key, step in chain.items() if plan.store.has(step)}
    return [*chosen.values()]


def _tell_outside(plan: Plan) -> None:
    """Say which encoders the run reads new texts with that are folders of this machine."""
    settings = [*plan.settings1.values(), *([] if plan.config.reranker is None else [plan.config.reranker])]
    named = {value for each in settings for value in _encoders(each.model_dump())}
    if folders := sorted(name for name in named if Path(name).is_dir()):
        log.warning(
            "The encoder in %s is not packed: whoever asks about new entities needs it in the same place.",
            ", ".join(folders),
        )


def _encoders(values: object) -> Iterator[str]:
    """What settings call an encoder, however deep."""
    if isinstance(values, dict):
        yield from (value for key, value in values.items() if key == "encoder" and isinstance(value, str))
        yield from (found for value in values.values() for found in _encoders(value))


def at_hand(path: Path) -> Path:
    """The folder of a run: the path itself, or where the packed run in that file is unpacked."""
    if not path.is_file():
        return path
    digest, _ = read_list(path)
    place = cache_root() / UNPACKED / digest[:32] / path.stem
    if place.is_dir():
        damaged = first_damaged(place)
        if damaged is None:
            return place
        log.warning("%s in %s is damaged; %s is unpacked again.", damaged, place, path)
    if can_write(place):
        with suppress(OSError):
            return _unpacked(path, place)
    return _unpacked(path, _temporary(path) / path.stem)


def unpack_run(file: Path | str, folder: Path | str) -> None:
    """Unpack a packed run into a folder of its own, which must not be there yet: a run like any other."""
    file, folder = Path(file), Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise MismatchError(f"{folder} is there already and not empty. Name a folder that is not there.")
    read_list(file)
    _unpacked(file, folder)


def _unpacked(file: Path, place: Path) -> Path:
    """The folder with what a file holds, there whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(place.parent)
    partial = partial_of(place)
    partial.mkdir()
    try:
        unpack(file, partial)
        shutil.rmtree(place, ignore_errors=True)
        partial.rename(place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return place


def _temporary(file: Path) -> Path:
    try:
        return temporary_folder("cear-run-")
    except OSError:
        raise DataError(
            f"{file} has to be unpacked, and there is no folder to write to. Set CEAR_CACHE or TMPDIR to one."
        ) from None


def data_of(folder: Path, name: str) -> KnowledgeBase | None:
    """The knowledge base that a run has with it, or None for one whose data is elsewhere."""
    return read_kept(folder / DATA, name) if (folder / LIST).exists() else None


def vectors_of(folder: Path) -> Path | None:
    """Where a run has the text vectors that came with it, if it has."""
    return folder / VECTORS if (folder / LIST).exists() else None
