"""New facts with probabilities: what a completion gives back, and given facts judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from cear.completion import (
    Calibrator,
    Counts,
    Promise,
    Proposals,
    among,
    asked,
    fact_keys,
    judged,
    judged_probability,
    learn_from_judgements,
    plausible,
    promise,
)
from cear.core.errors import ConfigError
from cear.core.progress import Progress, silent
from cear.core.types import SPLITS, Bools, Floats, Ints, Queries
from cear.data import Judged, KnowledgeBase, Vocabulary
from cear.explaining import explain
from cear.pipeline.completion_plan import Asking, CompletionPlan
from cear.pipeline.parts import Everything, Whole
from cear.ranking import Ranker

FINAL, STAGE1, STAGE1_RANK = 0, 4, 6  # places of features in a view

Probability = Callable[[Proposals], Floats]
"""How likely each of some proposals is, (fact,)."""


@dataclass(frozen=True, eq=False)
class Completion:
    """Proposed facts, the most probable first, with what has to be said about them."""

    table: pl.DataFrame
    """subject, relation, object (ids), their names, probability, rank, stage1_rank, score, stage1_score, known,
    reasons."""
    promise: Promise | None
    note: str


def complete(
    steps: CompletionPlan,
    *,
    relations: Sequence[str] | None = None,
    subjects: Sequence[str] | None = None,
    budget: int | None = None,
    min_probability: float = 0.05,
    max_false: float | None = None,
    why: bool = False,
    progress: Progress = silent,
) -> Completion:
    """The facts that a run proposes and no split has, the most probable first."""
    _refuse_shares(min_probability=min_probability, max_false=max_false)
    kb, refit = steps.plan.kb, steps.plan.config.refit
    asking = Asking(
        budget or steps.asking.questions, _numbers(kb.relations, relations), _numbers(kb.entities, subjects)
    )
    calibrator, part = steps.in_use, Everything(kb) if refit else Whole(kb)
    new = steps.proposed(part, asking)
    new = new[~_in_splits(new, kb)].counted(Counts(Everything(kb).seen))  # a place that any split has filled is filled
    shown = calibrator.probability(new)
    kept = None if max_false is None else promise(calibrator, new, max_false, seed=steps.plan.context.seed)
    chosen = _likely(shown, min_probability if kept is None else kept.threshold)
    facts = new[chosen]
    reasons = _reasons(steps.ranker_on(part), facts, progress) if why else None
    return Completion(
        proposal_table(kb, facts, shown[chosen], reasons), kept, _note(kb, _lacks(calibrator, kb), refit=refit)
    )


def complete_newcomers(
    ranker: Ranker,
    steps: CompletionPlan,
    first_new: int,
    *,
    min_probability: float = 0.05,
    why: bool = False,
    progress: Progress = silent,
) -> Completion:
    """The facts that are proposed of entities from this number on, which the run has never seen.

    Their plausible questions are asked, and of those without any fact all.
    """
    kb = ranker.kb
    queries, counts = _questions_of(kb, first_new, steps.settings.least_share), Counts(kb)
    found = Proposals.of(queries, asked(ranker, queries, steps.settings.proposals, progress=progress), counts)
    shown = steps.in_use.truth(found)
    chosen = _likely(shown, min_probability)
    reasons = _reasons(ranker, found[chosen], progress) if why else None
    note = f"Facts of {kb.n_entities - first_new:,} entities that the run has never seen: texts and their facts tell."
    return Completion(proposal_table(kb, found[chosen], shown[chosen], reasons), None, note)


def _likely(shown: Floats, threshold: float | None) -> Ints:
    """The places of what is at least as probable, the most probable first; nothing without a threshold."""
    order = np.argsort(-shown, kind="stable")
    return order[: 0 if threshold is None else int((shown >= threshold).sum())]


def _questions_of(kb: KnowledgeBase, first: int, least_share: float) -> Queries:
    """The questions that are asked of entities from this number on."""
    queries, _ = plausible(kb, least_share)
    queries = queries[queries.entity >= first]
    bare = np.setdiff1d(np.arange(first, kb.n_entities), kb.facts("train")[:, [0, 2]])
    relations = np.arange(2 * kb.n_relations)
    return Queries(
        np.concatenate([queries.entity, np.repeat(bare, len(relations))]),
        np.concatenate([queries.relation, np.tile(relations, len(bare))]),
    )


def probabilities(ranker: Ranker, calibrator: Calibrator, counts: Counts, facts: Ints) -> Floats:
    """The probability of each of these facts, (fact,)."""
    found = judged(ranker, facts, counts)
    place = np.searchsorted(fact_keys(found.facts, ranker.kb), fact_keys(facts, ranker.kb))
    return np.asarray(calibrator.truth(found)[place])


def judge(
    ranker: Ranker, probability: Probability, facts: Ints, *, why: bool = False, progress: Progress = silent
) -> pl.DataFrame:
    """The probability of given facts, in their order, whether a split has them or not."""
    kb = ranker.kb
    found = judged(ranker, facts, Counts(kb), progress=progress)
    shown = probability(found)
    place = np.searchsorted(fact_keys(found.facts, kb), fact_keys(facts, kb))
    reasons = _reasons(ranker, found, progress) if why else None
    return proposal_table(kb, found, shown, reasons)[place]


def as_people_judge(ranker: Ranker, known: Judged, *, seed: int, progress: Progress = silent) -> Probability:
    """How likely facts are by what people judged of others."""
    kb, counts = ranker.kb, Counts(ranker.kb)
    facts, first = np.unique(known.facts, axis=0, return_index=True)
    found = judged(ranker, facts, counts, progress=progress)
    order = np.argsort(fact_keys(facts, kb))
    trees = learn_from_judgements(found, known.truth[first][order], kb, seed=seed)
    return partial(judged_probability, trees, kb=kb)


def proposal_table(
    kb: KnowledgeBase, proposals: Proposals, probability: Floats, reasons: Sequence[str] | None = None
) -> pl.DataFrame:
    """Proposals as a table with the user's ids and names, in the order of the proposals."""
    s, r, o = proposals.facts.T
    side = _better_side(proposals)
    seen = partial(_of_side, proposals.views, side)
    names = {"subject": kb.entities.table[s], "relation": kb.relations.table[r], "object": kb.entities.table[o]}
    return pl.DataFrame(
        {
            **{end: table["id"] for end, table in names.items()},
            **{f"{end}_name": table["name"] for end, table in names.items()},
            "probability": probability,
            "rank": np.take_along_axis(proposals.ranks, side[:, None], axis=1)[:, 0],
            "stage1_rank": np.rint(np.exp(seen(STAGE1_RANK))).astype(np.int64),  # it was log(1 + place), from 0
            "score": seen(FINAL).astype(np.float64),
            "stage1_score": seen(STAGE1).astype(np.float64),
            "known": pl.Series(_split_names(proposals, kb), dtype=pl.String),
            "reasons": pl.Series(reasons or [None] * len(proposals), dtype=pl.String),
        }
    )


def _better_side(proposals: Proposals) -> Ints:
    """The question that has each fact higher in its list: 0 for ⟨s, r, ?⟩, 1 for ⟨?, r, o⟩."""
    ranks = np.where(proposals.ranks == 0, np.iinfo(np.int64).max, proposals.ranks)
    return np.asarray(ranks.argmin(axis=1))


def _of_side(views: Floats, side: Ints, feature: int) -> Floats:
    return np.asarray(views[np.arange(len(views)), side, feature])


def _in_splits(proposals: Proposals, kb: KnowledgeBase) -> Bools:
    keys = fact_keys(proposals.facts, kb)
    return np.asarray(np.any([among(keys, kb.facts(split), kb) for split in SPLITS], axis=0))


def _split_names(proposals: Proposals, kb: KnowledgeBase) -> list[str | None]:
    """The split that has each fact already, or None."""
    keys = fact_keys(proposals.facts, kb)
    found: list[str | None] = [None] * len(keys)
    for split in SPLITS[::-1]:
        for place in np.flatnonzero(among(keys, kb.facts(split), kb)):
            found[place] = split
    return found


def _reasons(ranker: Ranker, proposals: Proposals, progress: Progress) -> list[str]:
    """A sentence for each fact, as the answer of the question that has it higher in its list."""
    s, r, o = proposals.facts.T
    head = _better_side(proposals) == 1
    queries = Queries(np.where(head, o, s), np.where(head, r + ranker.kb.n_relations, r))
    found = explain(ranker, queries, np.where(head, s, o), progress=progress)
    return [each.sentence(ranker.kb) for each in found]


def _numbers(vocabulary: Vocabulary, names: Sequence[str] | None) -> tuple[int, ...] | None:
    return None if names is None else tuple(sorted({vocabulary.find(name) for name in names}))


def _note(kb: KnowledgeBase, lacks: float, *, refit: bool) -> str:
    """What a reader of proposals has to know about them."""
    learned = "the facts of all splits" if refit else "the training facts"
    return (
        f"Proposed by retrievers that learned from {learned} of {kb.name!r}. Probabilities were learned on validation "
        "facts, and figures of the run are those of its split. They take the knowledge base to lack about "
        f"{lacks:,.0f} facts that no split has, as its surest proposals suggest; if it lacks fewer, they are too high."
    )


def _lacks(calibrator: Calibrator, kb: KnowledgeBase) -> float:
    """How many facts the knowledge base is taken to lack."""
    held_out = len(kb.facts("valid")) + len(kb.facts("test"))
    return held_out * (1 - calibrator.share) / calibrator.share


def _refuse_shares(**shares: float | None) -> None:
    for name, share in shares.items():
        if share is not None and not 0 <= share <= 1:
            raise ConfigError(f"{name}: {share} is no share. Give a number from 0 to 1, such as 0.1.")
