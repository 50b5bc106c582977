"""The steps of a completion: which questions, their answers, and the probabilities that are learned from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cear.completion import (
    PROPOSALS,
    CalibrationConfig,
    Calibrator,
    Counts,
    Expectation,
    Fitted,
    Proposals,
    Sample,
    ask_part,
    join_parts,
    parts_of,
    read_proposals,
)
from cear.core.files import read_json, write_json
from cear.core.keys import content_key
from cear.core.reading import reading
from cear.core.types import Queries
from cear.pipeline.parts import Everything, Fold, Part, Whole
from cear.ranking import Ranker
from cear.reranking import Upstream
from cear.steps import Step

if TYPE_CHECKING:
    from cear.pipeline.plan import Plan

EXPECTATION, CALIBRATION, IN_USE = "expectation.json", "calibration.json", "in_use.json"
VERSION = 4  # of what these steps compute


@dataclass(frozen=True)
class Asking:
    """Which questions are asked: the best so many, of all, or of given relations and subjects."""

    questions: int
    relations: tuple[int, ...] | None = None
    subjects: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class _Asker:
    """The questions that are asked of a system that learned from a part of the facts, and that system."""

    steps: CompletionPlan
    part: Part
    asking: Asking

    @cached_property
    def counts(self) -> Counts:
        """How often ends and relations occur in these facts."""
        return Counts(self.part.seen)

    @cached_property
    def queries(self) -> Queries:
        """The questions with the most missing answers to expect."""
        path = self.steps.plan.store.get(self.steps.expectation) / EXPECTATION
        with reading(path):
            trees = Fitted.from_json(read_json(path))
        questions = Expectation(trees).questions(self.counts, self.steps.settings.least_share)
        chosen = questions.among(self.asking.relations, self.asking.subjects, self.part.seen.n_relations)
        return chosen.best(self.asking.questions).queries

    @cached_property
    def ranker(self) -> Ranker:
        """The system."""
        return self.steps.ranker_on(self.part)


@dataclass(frozen=True, eq=False)
class CompletionPlan:
    """What a completion asks of a run, as steps after those of its system."""

    plan: Plan

    @property
    def settings(self) -> CalibrationConfig:
        """How it is calibrated: as the configuration says, or by default."""
        return self.plan.config.calibration or CalibrationConfig()

    @cached_property
    def expectation(self) -> Step:
        """How many missing answers a question is expected to have."""
        settings = {"settings": self._asked_by, "data": self.plan.kb.digest, **self._always}
        return Step("questions", "questions", settings, self._make_expectation, on_cpu=True)

    def proposals(self, part: Part, asking: Asking) -> Step:
        """What the system that has learned from a part of the facts proposes."""
        settings = {"settings": self._asked_by, "asked": asdict(asking), "seen": part.key, **self._always}
        settings |= self.plan.ranker_settings
        whole = Step(
            ", ".join(filter(None, [_label(part), "proposals"])),
            "proposals",
            settings,
            partial(self._join_proposals, part, asking),
            (self.expectation, *self._system(part)),
        )
        return replace(whole, pieces=partial(self._asked_in_parts, part, asking, whole))

    def _asked_in_parts(self, part: Part, asking: Asking, whole: Step) -> list[Step]:
        """The pieces of a step of proposals: so many questions each."""
        return [
            Step(
                f"{whole.name} from {block.start:,}",
                "asked",
                {**whole.settings, "from": block.start, "to": block.stop},
                partial(self._ask, part, asking, block),
                whole.inputs,
            )
            for block in parts_of(self._asker(part, asking).queries)
        ]

    @cached_property
    def calibration(self) -> Step:
        """The probability of a proposal, from validation facts and folds that no stage has learned from."""
        made = [self.proposals(part, self.asking) for part in self._samples]
        settings = {"data": self.plan.kb.digest, **self._always}
        settings |= {} if self.settings.linked else {"linked": False}
        return Step("calibration", "calibration", settings, self._make_calibration, tuple(made), on_cpu=True)

    @property
    def asking(self) -> Asking:
        """The questions that probabilities are learned from, and that a completion asks if nobody says otherwise."""
        return Asking(self.settings.questions)

    @cached_property
    def calibrator(self) -> Calibrator:
        """What makes the probabilities that are measured, with the test facts hidden; made first if need be."""
        return self._calibrator(CALIBRATION)

    @cached_property
    def in_use(self) -> Calibrator:
        """What makes those that are served, when nothing is hidden any more."""
        return self._calibrator(IN_USE)

    def _calibrator(self, name: str) -> Calibrator:
        path = self.plan.store.get(self.calibration) / name
        with reading(path):
            return Calibrator.from_json(read_json(path))

    def proposed(self, part: Part, asking: Asking | None = None) -> Proposals:
        """The proposals of a step, made first if need be."""
        return read_proposals(self.plan.store.get(self.proposals(part, asking or self.asking)) / PROPOSALS)

    def ranker_on(self, part: Part) -> Ranker:
        """The system whose retrievers have learned from a part of the facts; Stage 2 and fusion are the run's own."""
        plan = self.plan
        if isinstance(part, Whole):
            return plan.ranker
        made, reranker = plan.config.candidates, None
        retrievers = plan.load_retrievers(part, self.retrievers(part))
        if plan.config.reranker is not None:
            upstream = Upstream(part.seen, plan.upstream.extra, plan.upstream.fold_retriever)
            reranker = plan.load_reranker(plan.store.get(plan.reranker), upstream)
        return Ranker(retrievers, made.k, made.known, reranker, plan.ranker.fusion)

    @cached_property
    def _samples(self) -> list[Part]:
        """All training facts, and all but a fold that Stage 2 has not learned from, if the settings want some."""
        crossfit, plan = self.plan.config.candidates.crossfit, self.plan
        if crossfit is None or plan.config.reranker is None:
            return [Whole(plan.kb)]
        first = crossfit.held_out_folds
        numbers = range(first, min(first + self.settings.folds, crossfit.folds))
        return [Whole(plan.kb), *(Fold(plan.kb, crossfit, number, plan.context.seed) for number in numbers)]

    def _system(self, part: Part) -> tuple[Step, ...]:
        if isinstance(part, Whole):
            return self.plan.system
        second = () if self.plan.config.reranker is None else (self.plan.reranker, self.plan.fusion)
        return (*self.retrievers(part).values(), *second)

    def retrievers(self, part: Part) -> dict[str, Step]:
        """Those that learn from a part of the facts."""
        return self.plan.retrievers_on(part, f"{_label(part)}, ")

    # How each is made.

    def _make_expectation(self, folder: Path) -> None:
        config, counts = self.settings, Counts(self.plan.kb)
        learned = Expectation.learn(counts, config.least_share, config.proposals, seed=self.plan.context.seed)
        write_json(folder / EXPECTATION, learned.trees.as_json())

    def _ask(self, part: Part, asking: Asking, block: slice, folder: Path) -> None:
        asker = self._asker(part, asking)
        ask_part(asker.ranker, asker.queries[block], self.settings.proposals, folder, self.plan.context)

    def _join_proposals(self, part: Part, asking: Asking, folder: Path) -> None:
        asker, store = self._asker(part, asking), self.plan.store
        answered = [store.get(piece) for piece in self.proposals(part, asking).cut()]
        extra = len(self.plan.config.candidates.extra_retrievers)
        join_parts(asker.queries, answered, extra, asker.counts, folder)
        self._askers.clear()

    def _asker(self, part: Part, asking: Asking) -> _Asker:
        """Who asks; kept until others are asked for, because every piece wants it."""
        key = content_key(part.key, asdict(asking))
        if key not in self._askers:
            self._askers.clear()
            self._askers[key] = _Asker(self, part, asking)
        return self._askers[key]

    @cached_property
    def _askers(self) -> dict[str, _Asker]:
        return {}

    def _make_calibration(self, folder: Path) -> None:
        kb, half = self.plan.kb, self.plan.half
        learned = None if half is None else half.learned
        samples = [Sample.of(self.proposed(part), kb, *_held_out(part), learned=learned) for part in self._samples]
        measured = Calibrator.learn(samples, kb, linked=self.settings.linked, seed=self.plan.context.seed)
        write_json(folder / IN_USE, measured.in_use(samples, kb).as_json())
        write_json(folder / CALIBRATION, measured.as_json())

    @property
    def _asked_by(self) -> dict[str, Any]:
        """The settings that decide which questions are asked and what is proposed."""
        return self.settings.model_dump(mode="json", exclude={"linked"})

    @property
    def _always(self) -> Mapping[str, Any]:
        return {"seed": self.plan.context.seed, "version": VERSION}


def _label(part: Part) -> str:
    match part:
        case Fold():
            return f"fold {part.number}"
        case Everything():
            return "all facts"
        case _:
            return ""


def _held_out(part: Part) -> list[Any]:
    return [part.held_out] if isinstance(part, Fold) else []
