"""Filtered ranks: where the gold stands among all entities, other known answers removed.

A gold is one entity, or in open knowledge bases several that are mentions of the same thing. Then the one that
scores best counts, and the others are not in the ranking.

Nothing is masked inside the scores. Everybody who scores above the gold or as high is counted, and the part
that known answers have in these counts is taken away again: scores stay as they are, and one pass over them
serves several filters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from cear.core.errors import ScoreError
from cear.core.progress import Progress, silent
from cear.core.types import Bools, Floats, Ints, Queries, Ragged, Ranks
from cear.data import KnownAnswers
from cear.evaluation.clusters import ByCluster, Filter
from cear.evaluation.scores import ScoresEntities, checked_scores, finite, query_blocks, refuse_outsiders

AnswersOfRow = Callable[[int], Ints]
Golds = Ints | Ragged  # an entity per query, or a row of mentions


def rank(scores: Tensor, gold: Golds, known: Ragged) -> Ranks:
    """The filtered rank of each gold: the other `known` answers of its query are not in the ranking.

    `known` has a row per query, in which each answer stands once. `gold` is an entity per query, or a row of
    mentions, of which the best counts.

    >>> scores = torch.tensor([[0.9, 0.5, 0.5, 0.7]])
    >>> known = Ragged(np.array([0, 2]), np.array([0, 1]))
    >>> rank(scores, np.array([1]), known)  # 0 is known and goes; 3 is above the gold, 2 ties with it
    Ranks(above=array([1]), tied=array([1]))
    >>> rank(scores, Ragged(np.array([0, 2]), np.array([1, 3])), known)  # 3 is the gold as well, and is above
    Ranks(above=array([0]), tied=array([0]))
    """
    if scores.ndim != 2 or not len(scores) == len(gold) == len(known):
        raise ScoreError(
            f"The scores have shape {tuple(scores.shape)}, but there are {len(gold)} golds and {len(known)} "
            "rows of known answers. Expected (query, entity), one gold and one row for each query."
        )
    matrix = finite(scores, lambda row: f"query {row}")
    golds = as_mentions(gold)
    refuse_outsiders(golds.values, matrix.shape[1])
    return rank_rows(matrix, np.arange(len(golds)), golds, [known.row])[0]


def rank_all(
    scorer: ScoresEntities,
    queries: Queries,
    gold: Golds,
    known: KnownAnswers,
    *,
    block: int | None = None,
    progress: Progress = silent,
) -> Ranks:
    """The filtered rank of each gold, scored in blocks; the memory used does not grow with the queries."""
    filters: dict[str, Filter] = {"known": known}
    return rank_under_filters(scorer, queries, gold, filters, block=block, progress=progress)["known"]


def rank_under_filters(
    scorer: ScoresEntities,
    queries: Queries,
    gold: Golds,
    filters: Mapping[str, Filter],
    *,
    block: int | None = None,
    progress: Progress = silent,
) -> dict[str, Ranks]:
    """The ranks of each gold under several filters, None removing nothing; a distinct query is scored once.

    `block` is the number of distinct queries scored at a time; by default as many as bounded memory allows.
    """
    distinct, row = queries.distinct()
    order = np.argsort(row, kind="stable")  # the golds of a query stand together: its scores serve all of them
    golds = as_mentions(gold)
    parts: list[dict[str, Ranks]] = []
    with progress("Ranking", len(queries)) as bar, torch.no_grad():
        for part in query_blocks(scorer, distinct, block):
            scores = checked_scores(scorer, distinct[part])
            here = order[slice(*np.searchsorted(row[order], [part.start, part.stop]))]
            asked = golds.take(here)
            refuse_outsiders(asked.values, scores.shape[1])
            parts.append(rank_block(scores, distinct[part], row[here] - part.start, asked, filters))
            bar.advance(len(here))
    return {name: _reordered([part[name] for part in parts], order) for name in filters}


def rank_block(
    scores: Floats, queries: Queries, rows: Ints, golds: Ragged, filters: Mapping[str, Filter]
) -> dict[str, Ranks]:
    """The ranks of golds under each filter, each in its row of the scores of a block of distinct queries."""
    of_entities = {name: each for name, each in filters.items() if not isinstance(each, ByCluster)}
    known = [None if each is None else each.of_queries(queries).row for each in of_entities.values()]
    ranks = dict(zip(of_entities, rank_rows(scores, rows, golds, known), strict=True))
    for name, each in filters.items():
        if isinstance(each, ByCluster):
            answers = each.known.of_queries(queries).row
            ranks[name] = rank_rows(each.clusters.best(scores), rows, golds, [answers])[0]
    return ranks


def rank_rows(scores: Floats, rows: Ints, golds: Ragged, filters: Sequence[AnswersOfRow | None]) -> list[Ranks]:
    """The ranks of golds, each in its row of the scores, under each filter.

    A row at a time, through one small buffer: it stays in the processor's cache, which is several times
    faster than comparing whole blocks, and makes no temporary array of the size of the scores.
    """
    counts = np.empty((len(filters), 2, len(golds)), np.int64)
    buffer = np.empty(scores.shape[1], np.bool_)
    best, level = _best(scores, rows, golds)
    for place, row in enumerate(rows.tolist()):
        line, mentions = scores[row], golds.row(place)
        above, equal = _compare(line, best[place], buffer)
        for ranks, answers_of in zip(counts, filters, strict=True):
            ranks[:, place] = above, equal - level[place]  # the gold equals itself
            if answers_of is not None:
                ranks[:, place] -= _compare(line[_without(answers_of(row), mentions)], best[place], buffer)
    return [Ranks(above, tied) for above, tied in counts]


def _best(scores: Floats, rows: Ints, golds: Ragged) -> tuple[Floats, Ints]:
    """The score of each gold's best mention, and how many of its mentions have that score, (gold,) each."""
    if not len(golds):
        return np.empty(0, scores.dtype), np.empty(0, np.int64)
    of_mentions = scores[rows[golds.rows], golds.values]
    starts = golds.offsets[:-1]
    best = np.maximum.reduceat(of_mentions, starts)
    return best, np.add.reduceat((of_mentions == best[golds.rows]).astype(np.int64), starts)


def _without(known: Ints, mentions: Ints) -> Ints:
    """The known answers that are not the gold."""
    return known[known != mentions[0]] if len(mentions) == 1 else np.setdiff1d(known, mentions, assume_unique=True)


def _compare(scores: Floats, gold_score: np.floating, buffer: Bools) -> tuple[int, int]:
    """How many of these scores are above the gold's, and how many equal it."""
    marks = buffer[: len(scores)]
    above = int(np.count_nonzero(np.greater(scores, gold_score, out=marks)))
    return above, int(np.count_nonzero(np.equal(scores, gold_score, out=marks)))


def as_mentions(gold: Golds) -> Ragged:
    """The gold of each query as a row of mentions."""
    golds = gold if isinstance(gold, Ragged) else Ragged.singles(gold)
    if not golds.counts.all():
        raise ScoreError(f"The gold of query {int(golds.counts.argmin())} has no mention; expected at least one.")
    return golds


def _reordered(parts: list[Ranks], order: Ints) -> Ranks:
    """The ranks of all blocks, each back at the place of its query."""
    above, tied = np.empty((2, len(order)), np.int64)
    if parts:
        above[order] = np.concatenate([part.above for part in parts])
        tied[order] = np.concatenate([part.tied for part in parts])
    return Ranks(above, tied)
