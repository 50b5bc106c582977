"""Columns for a spreadsheet: the known values of properties, and on request likely ones with their probability."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cear.core.blocks import blocks
from cear.core.errors import DataError
from cear.data import KnowledgeBase
from cear.pipeline import Answer
from cear.serving.answering import Question
from cear.serving.desk import Desk
from cear.serving.reconciling.messages import Extension, Wanted
from cear.serving.reconciling.properties import Properties, Property

PROBABILITY = "#probability"
"""Behind the id of a property: the column of how probable its predicted values are."""

Cell = dict[str, str | float]
"""{"id", "name"} for an entity, {"float"} for a probability, {} for nothing."""
Rows = dict[str, dict[str, list[Cell]]]
"""By the id of an entity, then of a column, the cells under each other."""


@dataclass(frozen=True)
class Extender:
    """Makes columns for the entities of a desk."""

    desk: Desk
    properties: Properties

    async def extended(self, asked: Extension) -> dict[str, Any]:
        """The columns and their cells, as the protocol wants them. What nobody knows has no cells, and is no error."""
        self._refuse_many(asked)
        found = [(each, self.properties.find(each.id)) for each in asked.properties]
        rows: Rows = {id_: {} for id_ in asked.ids}
        for wanted, which in found:
            known = await asyncio.to_thread(self._known, which, [*rows], _most(wanted.settings.limit))
            predicted = await self._predicted(wanted, which, [*rows])
            for id_, row in rows.items():
                row[wanted.id] = [*known[id_], *map(_cell, predicted[id_])]
                if wanted.settings.predicted:
                    row[wanted.id + PROBABILITY] = [*({} for _ in known[id_]), *map(_chance, predicted[id_])]
        return {"meta": [column for each in found for column in _columns(*each)], "rows": rows}

    def _refuse_many(self, asked: Extension) -> None:
        limits = self.desk.settings
        predicted = len(asked.ids) * sum(each.settings.predicted >= 1 for each in asked.properties)
        cells = len(asked.ids) * len(asked.properties)
        for what, count, most in (
            ("cells", cells, 20 * limits.most_rows),
            ("predictions", predicted, limits.most_facts),
        ):
            if count > most:
                raise DataError(f"{count:,} {what} are too many at once: ask for {most:,} at most, and then for more.")

    def _known(self, which: Property | None, ids: Sequence[str], most: int | None) -> dict[str, list[Cell]]:
        """The known values of each entity, by id."""
        by_id = self._kb.entities.by_id
        here = [id_ for id_ in ids if id_ in by_id] if which is not None else []
        cells: dict[str, list[Cell]] = {id_: [] for id_ in ids}
        if which is not None:
            values = self.properties.values(which, np.array([by_id[id_] for id_ in here], np.int64))
            cells |= {id_: self._cells(values.row(row).tolist()[:most]) for row, id_ in enumerate(here)}
        return cells

    async def _predicted(self, wanted: Wanted, which: Property | None, ids: Sequence[str]) -> dict[str, list[Answer]]:
        """The likely values of each entity that nobody knows, by id, by the ranker that is measured."""
        answers: dict[str, list[Answer]] = {id_: [] for id_ in ids}
        k = min(int(wanted.settings.predicted), self.desk.settings.most_answers)
        here = [id_ for id_ in ids if id_ in self._kb.entities.by_id]
        if which is None or k < 1:
            return answers
        for part in blocks(len(here), self.desk.settings.most):  # no more at once than one pass takes
            questions = [self._question(which, id_, k) for id_ in here[part]]
            found = await asyncio.gather(*map(self.desk.ask, questions))
            answers |= dict(zip(here[part], found, strict=True))
        least = wanted.settings.min_probability
        return {id_: [each for each in found if _likely(each, least)] for id_, found in answers.items()}

    def _question(self, which: Property, id_: str, k: int) -> Question:
        relation = self._kb.relations.id(which.relation % self._kb.n_relations)
        ends = {"object": id_} if which.backwards else {"subject": id_}
        return Question(relation, k=k, new=True, **ends)

    def _cells(self, entities: Sequence[int]) -> list[Cell]:
        names = self._kb.entities
        return [{"id": names.id(entity), "name": names.name(entity)} for entity in entities]

    @property
    def _kb(self) -> KnowledgeBase:
        return self.desk.run.kb


def _columns(wanted: Wanted, which: Property | None) -> list[dict[str, str]]:
    """What the client calls the column of a property, and that of its probabilities."""
    name = wanted.id if which is None else which.name
    column = {"id": wanted.id, "name": name}
    chances = {"id": wanted.id + PROBABILITY, "name": f"{name}: probability"}
    return [column, chances] if wanted.settings.predicted else [column]


def _most(limit: float) -> int | None:
    """How many values at most; None for all, which 0 stands for."""
    return int(limit) or None


def _likely(answer: Answer, least: float) -> bool:
    """Whether an answer is probable enough; a run that is not calibrated cannot say, and all its answers are."""
    return answer.probability is None or answer.probability >= least


def _cell(answer: Answer) -> Cell:
    return {"id": answer.id, "name": answer.name}


def _chance(answer: Answer) -> Cell:
    return {} if answer.probability is None else {"float": answer.probability}
