"""A run from configuration to answers: train, evaluate, ask. The command line and Python users start here."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cear import __version__, data
from cear.candidates import Lists, Manifest, Retrievers, load_retrievers, train_retrievers
from cear.config import RunConfig, dump_config, load_config
from cear.core.errors import CearError, ConfigError, DataError, MismatchError
from cear.core.files import partial_of, read_json, remove_leftovers, replacing, write_json
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, SPLITS, Ints, Queries, Split, TieRule
from cear.data import KnowledgeBase
from cear.evaluation import Evaluation
from cear.reports import Provenance, Record
from cear.retrieval import MODELS, TEXT_MODELS, Retriever, top_k
from cear.stages import (
    SecondStage,
    evaluate_stages,
    open_second_stage,
    refuse_unfit_encoder,
    train_second_stage,
    valid_mrr,
)
from cear.training import Deadline, State


@dataclass(frozen=True)
class Answer:
    """One entity proposed for a query."""

    rank: int
    stage1_rank: int
    """Its place before re-ranking."""
    id: str
    name: str
    score: float | None
    """By the last stage; None behind the re-ranked list, where Stage 1's order goes on."""
    known: Split | None
    """The split that holds this fact already, or None for a new one."""


@dataclass(frozen=True, eq=False)
class Run:
    """A trained system on disk, with its knowledge base: evaluate it, ask it."""

    folder: Path
    config: RunConfig
    kb: KnowledgeBase
    retrievers: Retrievers
    training: State
    second: SecondStage | None = None

    @property
    def scorer(self) -> Retriever:
        """Stage 1."""
        return self.retrievers.first

    def evaluate(
        self,
        split: Split = "test",
        *,
        ties: TieRule = "expected",
        facts: int | None = None,
        progress: Progress = silent,
    ) -> Evaluation:
        """Filtered ranks of every query of a split, or of a fixed sample of its facts; `before` is Stage 1 alone."""
        return evaluate_stages(
            self.config, self.retrievers, self.second, split, ties=ties, facts=facts, progress=progress
        )

    def ask(
        self, relation: str, *, subject: str | None = None, object: str | None = None, k: int = 10, new: bool = False
    ) -> list[Answer]:
        """The k best answers of ⟨subject, relation, ?⟩ or ⟨?, relation, object⟩; `new` leaves out known ones."""
        if (subject is None) == (object is None):
            raise CearError("Ask for one end: give the subject to find objects, or the object to find subjects.")
        query = self._query(relation, subject, object)
        known = {split: self.kb.known(split).of_queries(query).row(0) for split in SPLITS}
        names = self.kb.entities
        return [
            Answer(rank, place, names.id(entity), names.name(entity), score, _holder(known, entity))
            for rank, (entity, score, place) in enumerate(self._order(query, k, new=new), start=1)
            if entity != NO_ENTITY
        ]

    def record(self, evaluation: Evaluation) -> Record:
        """The figures of an evaluation with everything needed to make them again."""
        config = self.config.stage1
        training = self.training
        details: dict[str, Any] = {"training_seconds": training.seconds, "valid_mrr": training.best}
        if config.model == "extreme_text":
            details |= {"dim": config.extreme_text.dim, "epochs": training.epoch}
        if config.model in (*MODELS, *TEXT_MODELS):
            details |= {"rank": config.rank}
        if config.model in (*MODELS, *TEXT_MODELS, "text"):  # the others choose no epoch
            details |= {"epochs": training.epoch, "best_epoch": training.best_epoch}
        if self.second is not None:
            details |= {"reranker": self._second_details(self.second)}
        provenance = Provenance.collect(
            config=self.config.model_dump(),
            data=self.kb.name,
            digest=self.kb.digest,
            seconds=sum(stage.seconds for stage in self._trainings()) + evaluation.seconds,
        )
        return Record.of(evaluation, provenance, model=config.model, details=details)

    def _trainings(self) -> list[State]:
        """How each stage was trained."""
        second = self.second
        return [self.training, *([] if second is None else [second.training, second.last_phase or State()])]

    def _second_details(self, second: SecondStage) -> dict[str, Any]:
        """What a table says about Stage 2."""
        training, settings = second.training, self.config.reranker
        assert settings is not None
        return {
            "kind": settings.kind,
            "k": self.config.candidates.k,
            "epochs": training.epoch,
            "best_epoch": training.best_epoch,
            "valid_mrr": training.best,
            "lists": min(settings.lists or second.lists, second.lists),
            "lists_with_answers": second.lists,
            "training_seconds": training.seconds,
            "shortened": second.shortened,
            "fusion": list(second.fusion.weights),
            "int8": second.int8,
        } | self._last_phase_details(second)

    def _last_phase_details(self, second: SecondStage) -> dict[str, Any]:
        """What a training end to end did, if there was one."""
        last = second.last_phase
        if last is None:
            return {}
        kept = last.best > second.training.best
        return {"end_to_end": {"valid_mrr": last.best, "kept": kept, "training_seconds": last.seconds}}

    def _order(self, query: Queries, k: int, *, new: bool) -> list[tuple[int, float | None, int]]:
        """The k best entities of one query in their final order, each with its score and its Stage-1 rank."""
        drop = self.kb.known(*SPLITS) if new else None
        found = top_k(self.scorer, query, self.kb.n_entities, drop=drop)
        order, scores = found.entities[0], found.scores[0].tolist()
        rank = np.zeros(self.kb.n_entities, np.int64)
        rank[order[order != NO_ENTITY]] = 1 + np.arange(int((order != NO_ENTITY).sum()))
        if self.second is not None:
            listed = self.retrievers.top_k(query, min(self.config.candidates.k, self.kb.n_entities), drop=drop)
            manifest = Manifest(self.kb.name, self.kb.digest, "asked", listed.k, "keep", self.config.stage1.model)
            final = self.second.final_scores(Lists(query, listed, manifest), self.kb)[0]
            best = np.argsort(-final, kind="stable")
            order = np.concatenate([listed.entities[0, best], order[~np.isin(order, listed.entities)]])
            scores = [*final[best].tolist(), *[None] * (len(order) - listed.k)]
        return [(entity, scores[place], int(rank[entity])) for place, entity in enumerate(order[:k].tolist())]

    def _query(self, relation: str, subject: str | None, object: str | None) -> Queries:
        r = self.kb.relations.find(relation)
        if subject is not None:
            return Queries(np.array([self.kb.entities.find(subject)]), np.array([r]))
        assert object is not None
        return Queries(np.array([self.kb.entities.find(object)]), np.array([r + self.kb.n_relations]))


def run(
    config: RunConfig,
    out: Path | str,
    *,
    reuse: Path | str | None = None,
    minutes: float | None = None,
    download: bool = False,
    progress: Progress = silent,
) -> Run:
    """Train what the configuration says into the folder `out`; continues there if it was interrupted.

    `reuse` names a run whose Stage 1, and lists where they are made alike, are taken over rather than made again.
    `minutes` limits this call: a training that is not done by then is saved and raises `OutOfTime`; the same call
    goes on from there, to the same result. `download` allows what is not on this machine to be fetched.
    """
    out = Path(out)
    deadline = Deadline.after(minutes)
    use_threads(config.threads)
    kb = _load(config, config.data, download=download)
    _refuse_no_valid(kb)
    refuse_unfit_encoder(config, kb, download=download)
    remove_leftovers(out)
    _claim(out, config, kb)
    if reuse is not None:
        take_over(Path(reuse), out, config, kb)
    retrievers, state = train_retrievers(
        kb,
        config.stage1,
        config.candidates.also,
        out / "stage1",
        validate_on=valid_mrr,
        seed=config.seed,
        deadline=deadline,
        progress=progress,
    )
    write_json(out / "stage1" / "training.json", asdict(state))
    second = None
    if config.reranker is not None:
        second = train_second_stage(
            config, config.reranker, retrievers, out, download=download, deadline=deadline, progress=progress
        )
    return Run(out, config, kb, retrievers, state, second)


def open_run(folder: Path | str, *, source: str | None = None, int8: bool = False) -> Run:
    """The finished run in a folder; `source` says where its data is now, if it has moved.

    `int8` answers with a re-ranker of 8-bit weights: faster, and a little off.
    """
    folder = Path(folder)
    if not (folder / "stage1" / "training.json").exists() or not _has_second_stage(folder):
        hint = "It was interrupted: the same `cear run` continues it." if (folder / "run.json").exists() else ""
        raise MismatchError(
            f"{folder} holds no finished run. {hint or 'Make one with `cear run CONFIG --out FOLDER`.'}"
        )
    config = load_config(folder / "config.yaml")
    use_threads(config.threads)
    kb = _load(config, source or config.data)
    _refuse_other(folder, "digest", read_json(folder / "run.json")["digest"], kb.digest)
    retrievers = load_retrievers(kb, config.stage1, config.candidates.also, folder / "stage1")
    if int8 and config.reranker is None:
        raise ConfigError(f"The run in {folder} has no second stage, which is what int8 is for. Leave int8 out.")
    second = None if config.reranker is None else open_second_stage(config, retrievers, folder, int8=int8)
    return Run(folder, config, kb, retrievers, State(**read_json(folder / "stage1" / "training.json")), second)


def _has_second_stage(folder: Path) -> bool:
    """Whether the second stage that a run was asked for is finished, or none was asked for."""
    config = load_config(folder / "config.yaml")
    return config.reranker is None or (folder / "stage2" / "training.json").exists()


def use_threads(threads: int | None) -> None:
    """Let PyTorch, and the compiled kernels that follow it, use so many CPU threads; None keeps what it chose."""
    if threads is not None:
        torch.set_num_threads(threads)


def _load(config: RunConfig, source: str, *, download: bool = False) -> KnowledgeBase:
    return data.load(source, skip_bad_lines=config.skip_bad_lines, variant=config.variant, download=download)


def _claim(out: Path, config: RunConfig, kb: KnowledgeBase) -> None:
    """Make `out` the folder of this configuration and knowledge base, or refuse if it is another's."""
    if (out / "run.json").exists():
        _refuse_other(out, "digest", read_json(out / "run.json")["digest"], kb.digest)
        _refuse_other(out, "configuration", *_differing(load_config(out / "config.yaml"), config))
        return
    with replacing(out / "config.yaml") as partial:
        partial.write_text(dump_config(config), encoding="utf-8")
    write_json(out / "run.json", {"data": kb.name, "digest": kb.digest, "version": __version__})


def take_over(other: Path, out: Path, config: RunConfig, kb: KnowledgeBase) -> None:
    """Copy from another run what this one would make in the same way: Stage 1, and perhaps the training lists."""
    there = load_config(other / "config.yaml")
    _refuse_other(other, "digest", read_json(other / "run.json")["digest"], kb.digest)
    for key in ("seed", "stage1"):
        _refuse_other(other, key, getattr(there, key), getattr(config, key))
    mine, its = config.candidates, there.candidates  # another k needs other lists, and no other folds
    parts = ["stage1", *["crossfit"] * (mine.crossfit == its.crossfit), *["candidates"] * (mine == its)]
    for part in parts:
        if (other / part).exists() and not (out / part).exists():
            shutil.copytree(other / part, partial := partial_of(out / part))
            partial.rename(out / part)  # whole or not at all


def _refuse_no_valid(kb: KnowledgeBase) -> None:
    if not len(kb.facts("valid")):
        raise DataError(
            f"{kb.name!r} has no valid facts, and they choose the model. Put some into its valid file, "
            "or give all facts as one file: it is split for you."
        )


def _differing(there: RunConfig, here: RunConfig) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings whose values differ, by dotted key; only those that decide the result are compared."""
    one, other = _flat(there.model_dump()), _flat(here.model_dump())
    keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]  # a stage may be there or not
    return {key: one.get(key) for key in keys}, {key: other.get(key) for key in keys}


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted key."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def _refuse_other(folder: Path, what: str, there: object, here: object) -> None:
    if there != here:
        raise MismatchError(
            f"The run in {folder} was made with another {what}:\n  there: {there}\n  here:  {here}\n"
            "Use another --out folder, or go back to what it was made with."
        )


def _holder(known: dict[Split, Ints], entity: int) -> Split | None:
    return next((split for split, answers in known.items() if entity in answers), None)
