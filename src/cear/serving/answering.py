"""Questions of several clients, answered in one pass of the ranker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Self

import numpy as np

from cear.completion import Counts
from cear.core.types import Queries
from cear.pipeline import Answer, Run
from cear.pipeline.asking import Chances, answers_of_many, query
from cear.pipeline.proposing import probabilities
from cear.ranking import Ranker
from cear.serving.remembering import remembering


@dataclass(frozen=True)
class Question:
    """⟨subject, relation, ?⟩ or ⟨?, relation, object⟩, by names or ids."""

    relation: str
    subject: str | None = None
    object: str | None = None
    k: int = 10
    """How many answers."""
    new: bool = False
    """Whether to leave out what any split knows."""


@dataclass
class Tally:
    """What was done so far; one thread writes it."""

    questions: int = 0
    passes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Answering:
    """What answers questions as `Run.ask` does, many at a time, and remembers what they share."""

    ranker: Ranker
    chances: Chances | None
    tally: Tally = field(default_factory=Tally)

    @classmethod
    def of(cls, run: Run) -> Self:
        """What answers the questions of a run; facts are counted and probabilities loaded here, once."""
        ranker = remembering(run.ranker)
        if not run.calibrated:
            return cls(ranker, None)
        return cls(ranker, partial(probabilities, ranker, run.plan.completion.in_use, Counts(ranker.kb)))

    def answer_many(self, questions: Sequence[Question]) -> list[list[Answer]]:
        """The answers of each question, those with and those without known answers in a pass each."""
        found: list[list[Answer]] = [[]] * len(questions)
        began = perf_counter()
        for new in (False, True):
            places = [place for place, each in enumerate(questions) if each.new == new]
            asked = [questions[place] for place in places]
            for place, answers in zip(places, self._answers(asked, new=new), strict=True):
                found[place] = answers
        self.tally.questions += len(questions)
        self.tally.passes += 1
        self.tally.seconds += perf_counter() - began
        return found

    def _answers(self, questions: Sequence[Question], *, new: bool) -> list[list[Answer]]:
        if not questions:
            return []
        found = [query(self.ranker.kb, each.relation, each.subject, each.object) for each in questions]
        asked = Queries(*(np.concatenate(ends) for ends in zip(*((q.entity, q.relation) for q in found), strict=True)))
        return answers_of_many(self.ranker, asked, [each.k for each in questions], new=new, chances=self.chances)
