"""Which facts of a knowledge base look wrong: every training fact judged by models that never saw it.

Facts are dealt into folds. Retrievers without a fold make the lists of its facts, and Stage 2 for the even folds has
learned from lists of the odd ones, and the other way round. The calibration is the run's own: its trees judge no fact
whose question they have learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import polars as pl

from cear.completion import PROPOSALS, Counts, Proposals, fact_keys, judged, read_proposals, write_proposals
from cear.core.errors import ConfigError
from cear.core.progress import Progress, silent
from cear.core.types import Bools, Floats, Ints, Queries
from cear.data import KnowledgeBase
from cear.explaining import explain
from cear.pipeline.completion_plan import CompletionPlan
from cear.pipeline.parts import Fold
from cear.pipeline.plan import Plan
from cear.pipeline.proposing import proposal_table
from cear.ranking import Ranker
from cear.steps import Step

VERSION = 1  # of what these steps compute
FUNCTIONAL = 0.95  # so large a share of queries with one answer makes a second one suspicious


@dataclass(frozen=True, eq=False)
class Audit:
    """All training facts as those see them that have not learned from them, in the order of the facts."""

    proposals: Proposals
    probability: Floats  # (fact,)
    fold: Ints  # (fact,): the fold that holds it out


@dataclass(frozen=True, eq=False)
class AuditPlan:
    """The steps of an audit, beside those of the run's own system."""

    plan: Plan

    def step(self, fold: Fold) -> Step:
        """The facts of a fold, judged."""
        other = self._other(fold)
        second = () if self.plan.config.reranker is None else (other.reranker, other.fusion)
        inputs = (*CompletionPlan(other).retrievers(fold).values(), *second)
        settings = {"seen": fold.key, "version": VERSION, **self.plan.ranker_settings}
        return Step(f"fold {fold.number}, audit", "audit", settings, partial(self._make, fold), inputs)

    @cached_property
    def folds(self) -> list[Fold]:
        """All folds."""
        crossfit, plan = self.plan.config.candidates.crossfit, self.plan
        reranker = plan.config.reranker
        if crossfit is None or (reranker is not None and reranker.reads_vectors):
            raise ConfigError(
                "An audit judges facts by models that never saw them: it needs candidates.crossfit, and a re-ranker "
                "that reads no vectors of Stage 1. Run the configuration with crossfit: {folds: 5} and vectors: false."
            )
        return [Fold(plan.kb, crossfit, number, plan.context.seed) for number in range(crossfit.folds)]

    def audit(self) -> Audit:
        """Every training fact, judged; what is missing is made now."""
        plan, steps = self.plan, [self.step(fold) for fold in self.folds]
        plan.store.get_all(steps)
        parts = [read_proposals(plan.store.get(step) / PROPOSALS) for step in steps]
        found = _joined(parts)
        order = np.argsort(fact_keys(found.facts, plan.kb), kind="stable")
        number = np.repeat([fold.number for fold in self.folds], [len(part) for part in parts])
        found = found[order]
        return Audit(found, plan.completion.in_use.truth(found), number[order])

    def ranker(self, fold: Fold) -> Ranker:
        """The system that has not seen a fold: neither its retrievers nor its Stage 2."""
        return CompletionPlan(self._other(fold)).ranker_on(fold)

    def _other(self, fold: Fold) -> Plan:
        """The run with a Stage 2 that has learned from the folds of the other half."""
        half = tuple(range(1 - fold.number % 2, fold.crossfit.folds, 2))
        return self.plan if self.plan.config.reranker is None else replace(self.plan, fold_numbers=half)

    def _make(self, fold: Fold, folder: Path) -> None:
        found = judged(self.ranker(fold), fold.held_out, Counts(fold.seen), progress=self.plan.context.progress)
        write_proposals(folder / PROPOSALS, found)


def audit_table(plan: Plan, most: int, *, why: bool = False, progress: Progress = silent) -> pl.DataFrame:
    """The training facts that are least likely, those first, with what the knowledge base might say instead.

    `instead` is the best other answer of ⟨s, r, ?⟩ by who never saw the fact; `contradicts` the other values of a
    relation that has one as a rule.
    """
    steps = AuditPlan(plan)
    found = steps.audit()
    least = np.argsort(found.probability, kind="stable")[:most]
    table = proposal_table(plan.kb, found.proposals[least], found.probability[least])
    facts, fold = found.proposals.facts[least], found.fold[least]
    instead: list[str | None] = [None] * len(least)
    reasons: list[str | None] = [None] * len(least)
    for part in steps.folds:
        rows = np.flatnonzero(fold == part.number)
        if len(rows):
            _look_again(steps.ranker(part), facts[rows], rows, instead, reasons if why else None, progress)
    return table.with_columns(
        pl.Series("instead", instead, dtype=pl.String),
        pl.Series("contradicts", contradictions(plan.kb, facts), dtype=pl.String),
        pl.Series("reasons", reasons, dtype=pl.String),
    )


def contradictions(kb: KnowledgeBase, facts: Ints) -> list[str | None]:
    """The other values that train has of each ⟨s, r⟩, where r has one as a rule; None where there are none."""
    queries = Queries(facts[:, 0], facts[:, 1])
    known = kb.known("train").of_queries(queries)
    single = _is_functional(kb)[queries.relation]
    others = [[int(each) for each in known.row(row) if each != facts[row, 2]] for row in range(len(facts))]
    return [
        ", ".join(kb.entities.name(each) for each in values) if one and values else None
        for one, values in zip(single, others, strict=True)
    ]


def _is_functional(kb: KnowledgeBase) -> Bools:
    """Which relations, in both directions, have one answer as a rule."""
    known = kb.known("train")
    asked, single = known.queries.relation, known.answers.counts == 1
    askers = np.bincount(asked, minlength=2 * kb.n_relations)
    share = np.bincount(asked, weights=single, minlength=2 * kb.n_relations) / np.maximum(askers, 1)
    return np.asarray(share >= FUNCTIONAL)


def _look_again(
    ranker: Ranker,
    facts: Ints,
    rows: Ints,
    instead: list[str | None],
    reasons: list[str | None] | None,
    progress: Progress,
) -> None:
    """Fill in what a system that has not seen these facts would say in their place, and why they are where they are."""
    queries, names = Queries(facts[:, 0], facts[:, 1]), ranker.kb.entities
    best = ranker.rank(queries, 1).entities[:, 0]
    for row, fact, entity in zip(rows, facts, best, strict=True):
        instead[row] = names.name(entity) if entity >= 0 and entity != fact[2] else None
    if reasons is not None:
        for row, each in zip(rows, explain(ranker, queries, facts[:, 2], progress=progress), strict=True):
            reasons[row] = each.sentence(ranker.kb)


def _joined(parts: Sequence[Proposals]) -> Proposals:
    columns = ("facts", "views", "counts", "ranks")
    return Proposals(*(np.concatenate([getattr(part, column) for part in parts]) for column in columns))
