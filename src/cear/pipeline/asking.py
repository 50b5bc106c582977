"""Questions by name and answers with names: one at a time, or thousands in a data frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from cear.core.errors import CearError, DataError
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, SPLITS, Floats, Ints, Queries, RankedLists, Split
from cear.data import KnowledgeBase, find_entity
from cear.pipeline.arguments import refuse_few
from cear.ranking import Ranker

Chances = Callable[[Ints], Floats]
"""The probability of each of some facts, (fact, 3) -> (fact,)."""


@dataclass(frozen=True)
class Answer:
    """One entity proposed for a query."""

    rank: int
    """Among those that no training fact has told already; 0 for one that it has, which needs no ranking."""
    stage1_rank: int
    """Its place before re-ranking; 0 where Stage 1 did not look that far."""
    id: str
    name: str
    score: float | None
    """By the last stage; None behind the re-ranked list, where Stage 1's order goes on, and for what is known."""
    known: Split | None
    """The split that holds this fact already, or None for a new one."""
    probability: float | None = None
    """That it is true, where the run is calibrated; None for what a training fact says."""
    description: str | None = None
    """What the data says about the entity, if anything."""


def query(kb: KnowledgeBase, relation: str, subject: str | None, object: str | None) -> Queries:
    """The query that a question by names means."""
    if (subject is None) == (object is None):
        raise CearError("Ask for one end: give the subject to find objects, or the object to find subjects.")
    r = kb.relations.find(relation)
    if subject is not None:
        return Queries(np.array([find_entity(kb, subject)]), np.array([r]))
    assert object is not None
    return Queries(np.array([find_entity(kb, object)]), np.array([r + kb.n_relations]))


def answers(ranker: Ranker, asked: Queries, k: int, *, new: bool, chances: Chances | None = None) -> list[Answer]:
    """The k best answers of one query in the measured order; before them what the training facts say, k at most."""
    return answers_of_many(ranker, asked, [k], new=new, chances=chances)[0]


def answers_of_many(
    ranker: Ranker, asked: Queries, ks: Sequence[int], *, new: bool, chances: Chances | None = None
) -> list[list[Answer]]:
    """The same of several queries, in one pass of the ranker and one of `chances`; `ks` has the k of each."""
    for k in ks:
        refuse_few("k", k)
    kb = ranker.kb
    ranked = ranker.rank(asked, max(ks, default=1), without=SPLITS if new else ("train",))
    wanted = np.arange(ranked.entities.shape[1]) < np.array(ks, np.int64)[:, None]
    row, place = np.nonzero(wanted & (ranked.entities != NO_ENTITY))
    facts = _facts_of(kb, asked, row, ranked.entities[row, place])
    likely = [None] * len(row) if chances is None or not len(row) else chances(facts).tolist()
    found = [[] if new else _told(kb, asked[each : each + 1], k) for each, k in enumerate(ks)]
    columns = (ranked.entities, ranked.stage1_ranks, ranked.scores, splits_of(kb, asked, ranked))
    told = zip(row.tolist(), place.tolist(), *(each[row, place].tolist() for each in columns), likely, strict=True)
    for query_, at, entity, before, score, known, chance in told:
        found[query_].append(_answer(kb, entity, at + 1, before, score, known, chance))
    return found


def _facts_of(kb: KnowledgeBase, asked: Queries, row: Ints, entities: Ints) -> Ints:
    """The facts that entities say as answers of the queries in these rows, (answer, 3)."""
    entity, relation = asked.entity[row], asked.relation[row]
    head = (relation >= kb.n_relations)[:, None]
    ends = np.where(head, np.stack([entities, entity], axis=1), np.stack([entity, entities], axis=1))
    return np.insert(ends, 1, relation % kb.n_relations, axis=1)


def _told(kb: KnowledgeBase, asked: Queries, most: int) -> list[Answer]:
    """What the training facts say of one query, of many answers so many."""
    said = kb.known("train").of_queries(asked).row(0)[:most]
    return [_answer(kb, entity, 0, 0, np.nan, "train", None) for entity in said.tolist()]


def _answer(
    kb: KnowledgeBase,
    entity: int,
    rank: int,
    before: int,
    score: float,
    known: Split | Literal[""],
    chance: float | None,
) -> Answer:
    id_, name, description = kb.entities.table.row(entity)
    return Answer(rank, before, id_, name, None if np.isnan(score) else score, known or None, chance, description)


def ask_frame(
    ranker: Ranker,
    questions: pl.DataFrame,
    k: int,
    *,
    new: bool,
    chances: Chances | None = None,
    progress: Progress = silent,
) -> pl.DataFrame:
    """The answers of many questions in one pass of the ranker.

    `questions` has the columns `relation` and `subject` or `object`, or both with one of them null in each row: names
    or ids. The answer has `question` (the row of the question), rank, stage1_rank, id, name, score, known,
    and probability where there are `chances`.
    """
    refuse_few("k", k)
    kb = ranker.kb
    asked = _queries_of(kb, questions)
    ranked = ranker.rank(asked, k, without=SPLITS if new else ("train",), progress=progress)
    row, place = np.nonzero(ranked.entities != NO_ENTITY)
    entity = ranked.entities[row, place]
    names = kb.entities.table[entity]
    answered = pl.DataFrame(
        {
            "question": row,
            "rank": place + 1,
            "stage1_rank": ranked.stage1_ranks[row, place],
            "id": names["id"],
            "name": names["name"],
            "score": pl.Series(ranked.scores[row, place].astype(np.float64)).fill_nan(None),
            "known": splits_of(kb, asked, ranked)[row, place],
        }
    ).with_columns(pl.col("known").replace("", None))
    if chances is None:
        return answered
    likely = chances(_facts_of(kb, asked, row, entity)) if len(row) else np.zeros(0)
    return answered.with_columns(pl.Series("probability", likely, pl.Float64))


def _queries_of(kb: KnowledgeBase, questions: pl.DataFrame) -> Queries:
    """The queries of a frame of questions."""
    if "relation" not in questions.columns or not {"subject", "object"} & set(questions.columns):
        raise DataError(
            f"Questions need the columns `relation` and `subject` or `object`; this frame has {questions.columns}."
        )
    rows = questions.select(
        pl.col("relation").cast(pl.String),
        *(
            (pl.col(end) if end in questions.columns else pl.lit(None, pl.String).alias(end)).cast(pl.String)
            for end in ("subject", "object")
        ),
    )
    found = [query(kb, *row) for row in rows.iter_rows()]
    nothing = np.zeros(0, np.int64)
    return Queries(
        np.concatenate([nothing, *(each.entity for each in found)]),
        np.concatenate([nothing, *(each.relation for each in found)]),
    )


def splits_of(kb: KnowledgeBase, asked: Queries, ranked: RankedLists) -> npt.NDArray[np.str_]:
    """The split that knows each ranked entity as an answer, "" for none, (query, place)."""
    found: npt.NDArray[np.str_] = np.full(ranked.entities.shape, "", dtype="<U5")
    for split in SPLITS[::-1]:
        found[kb.known(split).of_queries(asked).contains(ranked.entities)] = split
    return found
