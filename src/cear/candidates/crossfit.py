"""Cross-fitting: hold facts out of Stage 1, so that their lists look like those of facts nobody has seen.

Folds are made by unordered entity pair, unless the settings say otherwise: FB15K-237 took every pair that train links
by another relation out of valid and test, so a fold of single facts would be easier than the facts to come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cear.candidates.config import CandidatesConfig, CrossfitConfig
from cear.candidates.files import read_lists, write_lists
from cear.candidates.lists import Lists, Manifest, make_lists, sample_queries
from cear.candidates.retrievers import Retrievers, ValidateOn, train_retrievers
from cear.core.progress import Progress, silent
from cear.core.types import Bools, Candidates, Ints, Queries, Split
from cear.data import KnowledgeBase, Mentions
from cear.retrieval import Stage1Config
from cear.training import NO_DEADLINE, Deadline

LISTS = "lists.parquet"


def fold_by_pair(facts: Ints, folds: int, *, seed: int) -> Ints:
    """The fold of each fact, (fact,); all facts that link the same two entities, either way, share one."""
    ends = np.sort(facts[:, [0, 2]], axis=1)
    _, pair = np.unique(ends, axis=0, return_inverse=True)
    dealt = np.random.default_rng([seed, folds]).permutation(int(pair.max(initial=-1)) + 1) % folds
    return dealt[pair.reshape(-1)]


def folds_of(facts: Ints, crossfit: CrossfitConfig, *, seed: int) -> Ints:
    """The fold of each fact, (fact,), as the settings deal them."""
    if crossfit.by == "pair":
        return fold_by_pair(facts, crossfit.folds, seed=seed)
    return np.random.default_rng([seed, crossfit.folds]).permutation(len(facts)) % crossfit.folds


def hold_out(kb: KnowledgeBase, fold_of: Ints, fold: int) -> tuple[KnowledgeBase, KnowledgeBase]:
    """The knowledge base without a fold of its training facts, and one whose training facts are that fold.

    Neither has test facts: nothing that trains for Stage 2 needs them.
    """
    facts, stays = kb.facts("train"), fold_of != fold
    rest: dict[Split, Ints] = {"train": facts[stays], "valid": kb.facts("valid")}
    return (
        KnowledgeBase(kb.name, kb.entities, kb.relations, rest, _mentions_of_rest(kb.mentions, stays)),
        KnowledgeBase(kb.name, kb.entities, kb.relations, {"train": facts[~stays]}),
    )


def _mentions_of_rest(mentions: Mentions | None, stays: Bools) -> Mentions | None:
    """What validation measures with, for the facts that stay."""
    if mentions is None:
        return None
    chosen: dict[Split, Bools | slice] = {"train": stays, "valid": slice(None)}
    ends = {split: mentions.ends[split][which] for split, which in chosen.items() if split in mentions.ends}
    return Mentions(mentions.members, ends)


@dataclass(frozen=True, eq=False)
class Fold:
    """Lists to learn from, and the retrievers that made them."""

    lists: Lists
    retrievers: Retrievers


def crossfit_folds(
    kb: KnowledgeBase,
    stage1: Stage1Config,
    config: CandidatesConfig,
    crossfit: CrossfitConfig,
    folder: Path,
    *,
    validate_on: ValidateOn,
    seed: int = 0,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = silent,
) -> list[Fold]:
    """Lists of held-out training queries, each fold's made by retrievers that were trained without it.

    `folder` keeps the trainings and the lists of the folds; an interrupted one continues there.
    """
    if crossfit.epochs is not None:
        stage1 = stage1.with_epochs(crossfit.epochs)
    fold_of = folds_of(kb.facts("train"), crossfit, seed=seed)

    def fold(number: int) -> Fold:
        rest, held_out = hold_out(kb, fold_of, number)
        place = folder / f"fold{number}"
        retrievers, _ = train_retrievers(
            rest,
            stage1,
            config.also,
            place,
            validate_on=validate_on,
            seed=seed,
            deadline=deadline,
            progress=progress,
        )
        model = " + ".join([f"{stage1.model}, without fold {number} of {crossfit.folds}", *config.also])
        manifest = Manifest(kb.name, kb.digest, "train", min(config.k, kb.n_entities), config.known, model)
        queries = sample_queries(held_out.known("train").queries, config.queries, seed=seed)
        return Fold(_kept(place / LISTS, kb, retrievers, queries, manifest, progress), retrievers)

    return [fold(number) for number in range(crossfit.use)]


def _kept(
    path: Path, kb: KnowledgeBase, retrievers: Retrievers, queries: Queries, manifest: Manifest, progress: Progress
) -> Lists:
    """The lists in a file, made and written there unless it holds these."""
    if path.exists():
        there = read_lists(path, kb)
        if there.manifest == manifest and _same(there.queries, queries):
            return there
    made = make_lists(retrievers, queries, manifest, progress=progress)
    write_lists(path, made)
    return made


def _same(one: Queries, other: Queries) -> bool:
    return np.array_equal(one.entity, other.entity) and np.array_equal(one.relation, other.relation)


def joined(parts: Sequence[Lists]) -> Lists:
    """Several lists, one after the other."""
    queries, found = [part.queries for part in parts], [part.candidates for part in parts]
    return Lists(
        Queries(np.concatenate([q.entity for q in queries]), np.concatenate([q.relation for q in queries])),
        Candidates(np.concatenate([c.entities for c in found]), np.concatenate([c.scores for c in found])),
        parts[0].manifest,
    )
