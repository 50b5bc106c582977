"""The strongest rivals of an answer, and what becomes of it when one of them is not there."""

from __future__ import annotations

import numpy as np

from cear.core.types import NO_ENTITY, Candidates, Floats, Ints
from cear.explaining.lists import AnswerLists
from cear.explaining.reasons import Rival
from cear.reranking import log_probabilities


def strongest_rivals(asked: AnswerLists, final: Floats, n: int) -> list[tuple[Rival, ...]]:
    """The n best candidates beside each answer by these final scores, all re-read without each in one pass."""
    shares, entities = asked.shares(final), asked.entities
    others = np.where((entities == asked.answers[:, None]) | (entities == NO_ENTITY), -np.inf, shares)
    best = np.argsort(-others, axis=1, kind="stable")[:, :n]
    rows, places = np.nonzero(np.take_along_axis(others, best, axis=1) > -np.inf)
    columns = best[rows, places]
    alone = asked[rows].without(columns)
    without = alone.of_answer(alone.shares(asked.ranker.final_scores(alone.lists)))
    effects = np.subtract(without, _without_looking(asked, final, rows, columns))
    found: list[list[Rival]] = [[] for _ in range(len(asked))]
    for row, column, after, effect in zip(rows, columns, without, effects, strict=True):
        rival = Rival(int(entities[row, column]), float(shares[row, column]), float(after), float(effect))
        found[row].append(rival)
    return [tuple(rivals) for rivals in found]


def _without_looking(asked: AnswerLists, final: Floats, rows: Ints, columns: Ints) -> Floats:
    """The answers' log-probabilities if taking out a candidate left all other scores as they are, (row,)."""
    some = asked[rows]
    entities = some.entities
    entities[np.arange(len(rows)), columns] = NO_ENTITY
    return some.of_answer(log_probabilities(Candidates(entities, final[rows])))
