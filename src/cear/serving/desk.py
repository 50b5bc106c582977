"""A desk: one opened run with everything that a service needs beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

from cear.core.errors import UnknownName
from cear.data import find_entity
from cear.pipeline import Answer, Run, open_run
from cear.serving.answering import Answering, Question
from cear.serving.batching import Batcher
from cear.serving.decisions import DECISIONS, Decisions
from cear.serving.jobs import Jobs, told
from cear.serving.judging import Judging, judge_many
from cear.serving.names import NameSearch
from cear.serving.review import ReviewQueue
from cear.serving.settings import ServiceSettings

ALIKE = 3  # names that are suggested for one that nobody has
SLOW = 8  # requests for reasons or judgements that may wait, and are answered in one pass

Q = TypeVar("Q")
A = TypeVar("A")


@dataclass(frozen=True, eq=False)
class Desk:
    """A run, the names in it, what it proposes, and what was decided. Made once; knows nothing of HTTP."""

    run: Run
    names: NameSearch
    queue: ReviewQueue
    decisions: Decisions
    settings: ServiceSettings = field(default_factory=ServiceSettings)

    @classmethod
    def open(
        cls, folder: Path, settings: ServiceSettings, *, source: str | None = None, store: Path | str | None = None
    ) -> Self:
        """The desk of the run in a folder, ready to answer; `source` and `store` are as in `open_run`."""
        desk = cls.of(open_run(folder, source=source, store=store, progress=told), settings)
        desk.warm()
        return desk

    @classmethod
    def of(cls, run: Run, settings: ServiceSettings | None = None) -> Self:
        """The desk of an opened run."""
        decisions = Decisions(run.folder / DECISIONS)
        names, queue = NameSearch.of(run.kb), ReviewQueue(run, decisions)
        return cls(run, names, queue, decisions, settings or ServiceSettings())

    def warm(self) -> None:
        """Answer a question, so that nobody has to wait for what is made when it is first used."""
        s, r, _ = self.run.kb.facts("train")[0].tolist()
        first = Question(self.run.kb.relations.id(r), subject=self.run.kb.entities.id(s))
        self.answering.answer_many([first])
        self.names.search(self.run.kb.entities.name(s), 1)

    async def ask(self, question: Question) -> list[Answer]:
        """The answers of a question, in one pass with others that wait; `Busy` or `OutOfTime` if there are too many."""
        self.find(question.relation, question.subject, question.object)
        return await self._asking.ask(question)

    async def judge(self, facts: Sequence[tuple[str, str, str]], *, why: bool = False) -> list[dict[str, Any]]:
        """A row for each fact, by name or id, in their order: see `Run.judge`."""
        for subject, relation, object_ in facts:
            known = (end for end in (subject, object_) if self.run.kb.entities.called(end))  # others are new ones
            self.find(relation, *known)
        return await self._judging.ask(Judging(tuple(facts), why))

    async def why(self, question: Question, answer: str) -> dict[str, Any]:
        """The reasons for an answer of a question, as values of JSON: see `Reasons.as_json`."""
        self.find(question.relation, question.subject, question.object)
        self.find_entity(answer)
        return await self._explaining.ask((question, answer))

    @property
    def waiting(self) -> int:
        """How many questions wait."""
        return self._asking.waiting

    async def close(self) -> None:
        """Answer everybody who waits and end a job, then leave the log of decisions."""
        self.jobs.close()
        for batcher in (self._asking, self._judging, self._explaining):
            await batcher.close()
        self.decisions.close()

    def find(self, relation: str, *entities: str | None) -> None:
        """Refuse names that nothing or too much is called by, before a question with them waits with others."""
        for entity in entities:
            if entity is not None:
                self.find_entity(entity)
        self.run.kb.relations.find(relation)

    def find_entity(self, text: str) -> int:
        """The number of the entity with this id or name; others of its name, or alike ones, are told in the error."""
        if not self.run.kb.entities.called(text):
            close = " or ".join(repr(hit.name) for hit in self.names.search(text, ALIKE))
            raise UnknownName(f"No entity is called {text!r}." + (f" Did you mean {close}?" if close else ""))
        return find_entity(self.run.kb, text)

    @cached_property
    def answering(self) -> Answering:
        """What answers questions."""
        return Answering.of(self.run)

    @cached_property
    def jobs(self) -> Jobs:
        """Completions, one at a time."""
        return Jobs(self.run, self.queue.add)

    @cached_property
    def _asking(self) -> Batcher[Question, list[Answer]]:
        return self._batcher(self.answering.answer_many, self.settings.most, self.settings.room)

    @cached_property
    def _judging(self) -> Batcher[Judging, list[dict[str, Any]]]:
        return self._batcher(lambda some: judge_many(self.run, some), SLOW, self.settings.room)

    @cached_property
    def _explaining(self) -> Batcher[tuple[Question, str], dict[str, Any]]:
        return self._batcher(self._explain, SLOW, self.settings.room)

    def _batcher(self, work: Callable[[Sequence[Q]], Sequence[A]], most: int, room: int) -> Batcher[Q, A]:
        return Batcher(work, most=most, room=room, wait=self.settings.wait, patience=self.settings.patience)

    def _explain(self, asked: Sequence[tuple[Question, str]]) -> list[dict[str, Any]]:
        found = (self.run.why(q.relation, subject=q.subject, object=q.object, answers=[a])[0] for q, a in asked)
        return [each.as_json(self.run.kb) for each in found]
