"""How each step of a run is made: it loads its inputs from the store and writes its result into a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from cear.candidates import (
    Lists,
    Manifest,
    Retrievers,
    bring_lists,
    joined,
    make_lists,
    read_lists,
    sample_queries,
    write_lists,
)
from cear.core.files import write_json
from cear.core.progress import Progress
from cear.core.tensors import read_tensors, write_tensors
from cear.core.types import Floats, Protocol, Queries, Split, TieRule
from cear.evaluation import Asked, sample_facts, write_ranks
from cear.pipeline.parts import Fold, Part
from cear.pipeline.patience import refuse_slow
from cear.ranking import Validation, evaluate_ranker, read_places, write_places
from cear.reranking import STAGE2_ALONE, Examples, Trained, train_phases
from cear.retrieval import RetrieverConfig
from cear.steps import Step

if TYPE_CHECKING:
    from cear.pipeline.plan import Plan
    from cear.pipeline.stage1 import RetrieverPlan

TRAINING, LISTS, FEATURES = "training.json", "lists.parquet", "features.safetensors"
MODEL, FUSION, RANKS = "model", "fusion.json", "ranks.parquet"

Pieces = Callable[[], Sequence[Step]]
"""The pieces of a step."""


def retriever(plan: RetrieverPlan, name: str, config: RetrieverConfig, part: Part, folder: Path) -> None:
    """Train a retriever on a part of the facts; `name` is for who watches."""
    fitted = config.fit(part.seen, folder, plan.context.called(name))
    write_json(folder / TRAINING, asdict(replace(fitted.training, seconds=0.0)))  # the step's report has the seconds


def lists(plan: Plan, part: Part, retrievers: Mapping[str, Step], pieces: Pieces, folder: Path) -> None:
    """The lists of a part's queries, by retrievers that learned from that part; joined from pieces if it has some."""
    if cut := pieces():
        write_lists(folder / LISTS, joined([read_lists(plan.store.get(piece) / LISTS, plan.kb) for piece in cut]))
        plan.forget_retrievers()
    else:
        _lists_of(plan, plan.load_retrievers(part, retrievers), queries_of(plan, part), folder)


def some_lists(plan: Plan, part: Part, retrievers: Mapping[str, Step], which: slice, folder: Path) -> None:
    """Those of some of the queries: a piece of the lists."""
    _lists_of(plan, plan.kept_retrievers(part, retrievers), queries_of(plan, part)[which], folder)


def _lists_of(plan: Plan, retrievers: Retrievers, queries: Queries, folder: Path) -> None:
    made = plan.config.candidates
    manifest = Manifest(plan.kb.name, plan.kb.digest, made.learn_from, made.k, made.known, plan.config.stage1.model)
    refuse_slow(retrievers, queries, plan.ranking_minutes)
    write_lists(folder / LISTS, make_lists(retrievers, queries, manifest, progress=plan.context.progress))


def queries_of(plan: Plan, part: Part) -> Queries:
    """The queries of a part that lists are made of."""
    return sample_queries(part.queries, plan.config.candidates.queries, seed=plan.context.seed)


def own_lists(plan: Plan, path: Path, folder: Path) -> None:
    """The lists in a file of the user's, checked."""
    brought = bring_lists(path, plan.kb, plan.config.candidates.k, progress=plan.context.progress)
    write_lists(folder / LISTS, brought)


def drawn_lists(plan: Plan, folder: Path) -> None:
    """The lists that the re-ranker draws from the training facts."""
    write_lists(folder / LISTS, plan.settings2.draw_lists(plan.kb, plan.stage2))


def validation(plan: Plan, folder: Path) -> None:
    """The lists of a sample of validation facts, and where Stage 1 has their golds."""
    facts, context = plan.settings2.validate_facts, plan.context
    _refuse_slow(plan, "valid", facts)
    made = Validation.of(plan.first_ranker, facts, among=plan.choosing, seed=context.seed, progress=context.progress)
    write_places(folder, made.places)


def features(plan: Plan, part: Part, made: Step, folder: Path) -> None:
    """The features of lists, from what their part of the facts says."""
    read = read_lists(plan.store.get(made) / LISTS, plan.kb)
    write_tensors(folder / FEATURES, {"features": torch.from_numpy(plan.settings2.features_of(read, part.seen))})
    if isinstance(part, Fold):
        part.forget()  # its lists are made and described: nothing asks for its facts any more


def reranker(plan: Plan, folder: Path) -> None:
    """Train the re-ranker, phase by phase, or take it as it is."""
    fresh, validate = plan.settings2.build(plan.upstream, plan.stage2), load_validation(plan).mrr
    if not plan.training_lists:
        trained, details = Trained.as_it_is(fresh, validate), {"lists": 0, "shortened": 0.0}
    else:
        lists = lists_to_learn_from(plan)
        features = plan.settings2.prepare(features_to_learn_from(plan), partial(_features_at_use, plan))
        undescribed, only_read = np.zeros((len(lists), 0), np.float32), plan.settings2.only_read(features)
        useful = len(Examples.of(lists, undescribed, plan.labelled, only_read))
        details = {"lists": useful, "shortened": float(fresh.shortened(lists).mean())}
        key, context = [plan.reranker.key], plan.stage2.called(plan.reranker.name)
        trained = train_phases(
            fresh, lists, features, plan.labelled, folder, validate=validate, key=key, context=context
        )
    trained.reranker.save_pretrained(folder / MODEL)
    phases = {name: asdict(replace(state, seconds=0.0)) for name, state in trained.phases.items()}
    write_json(folder / TRAINING, {"phases": phases, "best": trained.best, **details})


def fusion(plan: Plan, folder: Path) -> None:
    """Choose how much each stage counts, on validation."""
    chosen = STAGE2_ALONE
    if plan.config.fusion != "none":
        chosen = load_validation(plan).best_fusion(plan.load_reranker(plan.store.get(plan.reranker)))
    write_json(folder / FUSION, chosen.as_json())


def evaluation(
    plan: Plan,
    split: Split,
    ties: TieRule,
    facts: int | None,
    protocol: Protocol,
    progress: Progress,
    folder: Path,
) -> None:
    """Measure the finished system."""
    seed = plan.context.seed
    _refuse_slow(plan, split, facts)
    among = plan.choosing if split == "valid" else None  # what it has learned from would flatter it
    measured = evaluate_ranker(
        plan.ranker, split, ties=ties, protocol=protocol, facts=facts, among=among, seed=seed, progress=progress
    )
    before = None if measured.before is None else replace(measured.before, seconds=0.0)
    write_ranks(folder / RANKS, replace(measured, before=before, seconds=0.0))  # as above


def _refuse_slow(plan: Plan, split: Split, facts: int | None) -> None:
    """Refuse to rank the queries of a split where that takes too long."""
    which = None if facts is None else sample_facts(plan.kb, split, facts, seed=plan.context.seed)
    refuse_slow(plan.retrievers, Asked.of(plan.kb, split, which).queries, plan.ranking_minutes)


def lists_to_learn_from(plan: Plan) -> Lists:
    """All lists that Stage 2 learns from."""
    return joined([read_lists(plan.store.get(step) / LISTS, plan.kb) for _, step in plan.training_lists])


def features_to_learn_from(plan: Plan) -> Floats:
    """The features of these lists, (list, candidate, feature)."""
    parts = [read_tensors(plan.store.get(step) / FEATURES)[0]["features"] for step in plan.features]
    return np.concatenate([part.numpy() for part in parts])


def _features_at_use(plan: Plan) -> Floats:
    """The features of the validation lists, whose retrievers have seen all training facts."""
    lists = load_validation(plan).places.lists
    assert lists is not None
    return plan.settings2.features_of(lists, plan.kb)


def load_validation(plan: Plan) -> Validation:
    """What chooses the best epoch and the fusion."""
    places = read_places(plan.store.get(plan.validation), plan.kb)
    facts, seed = plan.settings2.validate_facts, plan.context.seed
    return Validation.again(plan.first_ranker, places, facts, among=plan.choosing, seed=seed)
