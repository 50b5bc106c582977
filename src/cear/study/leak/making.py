"""How each step of the experiment is made: it loads its inputs from the store and writes its result into a folder."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cear.candidates import Lists, Manifest, make_lists, write_lists
from cear.core.files import write_json
from cear.core.types import Ints, Queries, Ranks, Split
from cear.evaluation import Asked, write_ranks
from cear.ranking import Places, Ranker, write_places
from cear.reranking import Reranker, Upstream, train_phases
from cear.study.leak.arms import Arm, Made
from cear.study.leak.lists import leaky_lists

if TYPE_CHECKING:
    from cear.study.leak.steps import LeakPlan

LISTS, MODEL, TRAINING, RANKS = "lists.parquet", "model", "training.json", "ranks.parquet"


def lists(leak: LeakPlan, made: Made, folder: Path) -> None:
    """The lists to learn from: of facts that Stage 1 has learned, known answers kept, as in the paper."""
    plan, (queries, gold) = leak.plan, leak.learned
    if made == "leaky":
        found = _leaky(leak, queries, gold, "train")
    else:
        model, k = plan.config.stage1.model, leak.settings.k
        manifest = Manifest(plan.kb.name, plan.kb.digest, "train", k, "keep", model)
        found = make_lists(plan.retrievers, queries, manifest, progress=plan.context.progress)
    write_lists(folder / LISTS, found)


def places(leak: LeakPlan, made: Made, split: Split, folder: Path) -> None:
    """The lists of questions, and where Stage 1 has their golds."""
    asked, ranker = leak.asked(split), Ranker(leak.plan.retrievers, leak.settings.k, "keep")
    progress = leak.plan.context.progress
    found = ranker.places(asked.queries, asked.golds, asked.filters, with_lists=True, progress=progress)
    if made == "leaky":
        # The filtered rank of the gold is what it was, and so are the scores of all who compete with it.
        leaky = _leaky(leak, asked.queries, asked.gold, split)
        found = replace(found, lists=leaky, listed_scores=leaky.candidates.scores)
    write_places(folder, found)


def reranker(leak: LeakPlan, arm: Arm, folder: Path) -> None:
    """Train Stage 2 of an arm; its labels are the training answers of each query."""
    config, kb, learned = leak.settings.reranker_of(arm.variant), leak.plan.kb, leak.load_lists(arm.made)
    asked, found = leak.asked("valid"), leak.load_places(arm.made, "valid")
    trained = train_phases(
        config.build(Upstream(kb), leak.context),
        learned,
        config.features_of(learned, kb),
        kb,
        folder,
        validate=lambda trying: float((1 / stage2_ranks(trying, found, asked).under("expected")).mean()),
        key=[leak.reranker(arm).key],
        context=leak.context,
    )
    trained.reranker.save_pretrained(folder / MODEL)
    phases = {name: asdict(replace(state, seconds=0.0)) for name, state in trained.phases.items()}
    write_json(folder / TRAINING, {"phases": phases, "best": trained.best})


def evaluation(leak: LeakPlan, arm: Arm, folder: Path) -> None:
    """Measure an arm: each list in the order of Stage 2, other known answers removed, the rank of the gold."""
    asked, found = leak.asked("test"), leak.load_places(arm.made, "test")
    before = asked.evaluation(found.ranks, ties="expected", seconds=0.0)
    ranks = stage2_ranks(leak.load_reranker(arm), found, asked)
    write_ranks(folder / RANKS, replace(before, ranks=ranks, before=before, listed=found.listed))


def stage2_ranks(reranker: Reranker, found: Places, asked: Asked) -> Ranks:
    """The filtered ranks of the golds when Stage 2 has ordered their lists."""
    assert found.lists is not None
    once, place = different_lists(found.lists)
    return found.after(reranker.rerank(once)[place], asked.known)


def different_lists(lists: Lists) -> tuple[Lists, Ints]:
    """Each different list once, and for each of `lists` its place among those.

    `candidates.distinct_lists` takes lists of the same entities for the same list. Leaky ones may differ in their
    scores alone: these depend on the gold.
    """
    scores = lists.candidates.scores.astype(np.float32).view(np.int32)
    rows = np.column_stack([lists.queries.entity, lists.queries.relation, lists.candidates.entities, scores])
    _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return lists[first], place.reshape(-1)


def _leaky(leak: LeakPlan, queries: Queries, gold: Ints, split: Split) -> Lists:
    retrievers, context, k = leak.plan.retrievers, leak.plan.context, leak.settings.k
    return leaky_lists(retrievers, queries, gold, k, split=split, seed=context.seed, progress=context.progress)
