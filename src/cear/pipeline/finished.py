"""A finished run: evaluate it, ask it, and say what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import polars as pl

from cear.completion import Counts
from cear.config import RunConfig
from cear.core.errors import ConfigError, DataError
from cear.core.progress import Progress, silent
from cear.core.types import Protocol, Queries, RankedLists, Split, TieRule
from cear.data import Judged, KnowledgeBase, find_entity
from cear.evaluation import Evaluation, read_ranks
from cear.explaining import Reasons, explain
from cear.pipeline import asking, auditing, describing, exporting, judging, measuring, proposing
from cear.pipeline.arguments import refuse_evaluation, refuse_ranking
from cear.pipeline.asking import Answer, Chances
from cear.pipeline.exporting import What
from cear.pipeline.making import RANKS
from cear.pipeline.measuring import CompletionEvaluation
from cear.pipeline.plan import Plan
from cear.pipeline.proposing import Completion
from cear.pipeline.stage1 import STAGE1
from cear.ranking import NewEntity, Ranker, extended
from cear.reports import Provenance, Record
from cear.retrieval import Retriever
from cear.steps import Step, StepReport
from cear.training import State


@dataclass(frozen=True, eq=False)
class Run:
    """A trained system on disk, with its knowledge base: evaluate it, ask it."""

    folder: Path
    plan: Plan
    cost: Mapping[str, StepReport] = field(default_factory=dict)
    """What its steps had cost when it was finished, by key."""
    grown: Ranker | None = None
    """The system over more entities than it was trained with, if there are any; see `with_entities`."""

    @property
    def config(self) -> RunConfig:
        """The configuration, with one seed."""
        return self.plan.config

    @property
    def kb(self) -> KnowledgeBase:
        """The knowledge base, with the entities that were added."""
        return self.plan.kb if self.grown is None else self.grown.kb

    @property
    def ranker(self) -> Ranker:
        """The system that answers; without entities that were added, it is what is measured."""
        return self.plan.ranker if self.grown is None else self.grown

    def with_entities(self, newcomers: Sequence[NewEntity]) -> Run:
        """The same run, which knows these entities too; nothing is trained and nothing on disk changes.

        Questions know them. Evaluations and records are those of the run as it was trained (docs/new-entities.md).
        """
        return replace(self, grown=extended(self.ranker, newcomers, self.plan.context))

    @property
    def scorer(self) -> Retriever:
        """Stage 1."""
        return self.plan.retrievers.first

    @property
    def training(self) -> State:
        """How the training of Stage 1 went."""
        return self.plan.training(self.plan.stage1[STAGE1])

    def evaluate(
        self,
        split: Split = "test",
        *,
        ties: TieRule = "expected",
        protocol: Protocol = "ours",
        facts: int | None = None,
        progress: Progress = silent,
    ) -> Evaluation:
        """Filtered ranks of every query of a split, or of a fixed sample of its facts; `before` is Stage 1 alone.

        The protocol `care` is that of CaRe, for open knowledge bases (docs/evaluation-protocol.md). An evaluation is a
        step like any other: asked for again, it is read.
        """
        refuse_evaluation(split, ties, protocol, facts)
        if not len(self.kb.facts(split)):
            raise DataError(f"{self.kb.name!r} has no {split} facts: there is nothing to evaluate.")
        step = self.plan.evaluation(split, ties, facts, protocol, progress=progress)
        return read_ranks(self.plan.store.get(step) / RANKS)

    def ask(
        self, relation: str, *, subject: str | None = None, object: str | None = None, k: int = 10, new: bool = False
    ) -> list[Answer]:
        """The k best answers of ⟨subject, relation, ?⟩ or ⟨?, relation, object⟩, in the order that is measured.

        Before them, with rank 0, come those that the training facts already say, at most k: they need no ranking.
        `new` leaves out all that any split knows.
        """
        query = asking.query(self.kb, relation, subject, object)
        return asking.answers(self.ranker, query, k, new=new, chances=self._chances)

    def ask_many(
        self, questions: pl.DataFrame, *, k: int = 10, new: bool = False, progress: Progress = silent
    ) -> pl.DataFrame:
        """The k best answers of each question that no training fact has told, in one pass.

        `questions` has the columns `relation` and `subject` or `object`; the answer says in `question` which row it is
        for, then rank, stage1_rank, id, name, score, known, and of a calibrated run probability.
        """
        return asking.ask_frame(self.ranker, questions, k, new=new, chances=self._chances, progress=progress)

    def why(
        self, relation: str, *, subject: str | None = None, object: str | None = None, answers: Sequence[str]
    ) -> list[Reasons]:
        """Why each of these answers, by name or id, is ranked where it is for a question."""
        asked = asking.query(self.kb, relation, subject, object)
        given = np.array([find_entity(self.kb, answer) for answer in answers], np.int64)
        same = np.zeros(len(given), np.int64)
        return explain(self.ranker, asked[same], given)

    def complete(
        self,
        *,
        relations: Sequence[str] | None = None,
        subjects: Sequence[str] | None = None,
        budget: int | None = None,
        min_probability: float = 0.05,
        max_false: float | None = None,
        why: bool = False,
        progress: Progress = silent,
    ) -> Completion:
        """The facts that no split has and that are likely, the most probable first.

        `budget` questions are asked, those with the most missing answers to expect, of all relations and subjects or of
        those that are named. Proposed is what is at least as probable as `min_probability`; with `max_false` what keeps
        the promise that at most this share is false. `why` adds reasons. A run that is not calibrated is calibrated
        first, which takes a while once. A run `with_entities` completes these alone.
        """
        if self.grown is not None:
            if (relations, subjects, budget, max_false) != (None, None, None, None):
                raise ConfigError("A completion of new entities asks all their questions: leave the other choices out.")
            first, limits = self.plan.kb.n_entities, {"min_probability": min_probability}
            return proposing.complete_newcomers(
                self.ranker, self.plan.completion, first, why=why, progress=progress, **limits
            )
        return proposing.complete(
            self.plan.completion,
            relations=relations,
            subjects=subjects,
            budget=budget,
            min_probability=min_probability,
            max_false=max_false,
            why=why,
            progress=progress,
        )

    def judge(
        self,
        facts: Sequence[Sequence[str]],
        *,
        learn_from: Judged | None = None,
        why: bool = False,
        progress: Progress = silent,
    ) -> pl.DataFrame:
        """The probability of facts ⟨subject, relation, object⟩ by name or id, in their order.

        With `learn_from`, facts that people judged true or false, it is that they would judge so, too.

        An entity that nobody knows is taken as a new one of that name: what its text says is all that speaks for it,
        and the column `note` says so.
        """
        return judging.judge_named(self, facts, learn_from, why=why, progress=progress)

    def audit(self, most: int = 100, *, why: bool = False, progress: Progress = silent) -> pl.DataFrame:
        """The training facts that look wrong, the least likely first, each judged by models that never saw it.

        All folds are held out in turn, so an audit trains about as many retrievers as there are folds; what is kept is
        not made again.
        """
        return auditing.audit_table(self.plan, most, why=why, progress=progress)

    def evaluate_completion(self) -> CompletionEvaluation:
        """The completion of the training facts, with the test facts hidden: what is right, and how sure it was."""
        return measuring.evaluate_completion(self.plan.completion)

    @property
    def calibrated(self) -> bool:
        """Whether its probabilities are learned."""
        return self.config.calibration is not None or self.plan.store.has(self.plan.completion.calibration)

    @property
    def _chances(self) -> Chances | None:
        return self._likelihood if self.calibrated else None

    @cached_property
    def _likelihood(self) -> Chances:
        """What says how likely answers are; facts are counted once."""
        return partial(proposing.probabilities, self.ranker, self.plan.completion.in_use, Counts(self.kb))

    def rank(
        self, queries: Queries, k: int = 10, *, without: Sequence[Split] = ("train",), progress: Progress = silent
    ) -> RankedLists:
        """The k best entities of each query in their final order, as integers; see `Ranker.rank`."""
        refuse_ranking(self.kb, queries, k, without)
        return self.ranker.rank(queries, k, without=without, progress=progress)

    def export(
        self,
        folder: Path | str,
        what: What = "all",
        *,
        split: Split = "test",
        k: int = 1000,
        progress: Progress = silent,
    ) -> list[Path]:
        """Write the run, or a part of it, for other tools; gives back the files (docs/lists-and-exports.md).

        `trec` is a run with qrels of a split, `lists` its candidates, both to depth k; `scorer` weights for PyKEEN,
        `reranker` a folder of Hugging Face with a model card, `card` the card of the whole.
        """
        return exporting.export(self, Path(folder), what, split, k, progress)

    def steps(self, *last: Step) -> list[StepReport]:
        """What every step of the run cost, inputs first; `last` are further ones, such as an evaluation."""
        chain = {each.key: each for step in (*self.plan.last, *last) for each in step.chain()}
        store = self.plan.store
        return [self.cost[key] if not store.has(step) else store.report(step) for key, step in chain.items()]

    def record(
        self,
        evaluation: Evaluation,
        *,
        facts: int | None = None,
        completion: CompletionEvaluation | None = None,
        command: str | None = None,
    ) -> Record:
        """The figures of an evaluation with everything needed to make them again, and the cost of the whole chain.

        Those of a completion stand beside it, where one is given. `command` makes the same; by default it is this
        process's own.
        """
        step = self.plan.evaluation(evaluation.split, evaluation.ties, facts, evaluation.protocol)
        provenance = Provenance.collect(
            config=self.config.model_dump(),
            data=self.kb.name,
            digest=self.plan.kb.digest,
            steps=[report.as_json() for report in self.steps(step)],
            command=command,
        )
        proposed = None if completion is None else completion.as_json()
        return Record.of(
            evaluation,
            provenance,
            model=self.config.stage1.model,
            details=describing.details(self.plan),
            completion=proposed,
        )
