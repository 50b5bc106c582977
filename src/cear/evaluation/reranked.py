"""The evaluation of re-ranked lists: the list first, in its new order, then everything else as Stage 1 has it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cear.candidates import Lists
from cear.core.errors import MismatchError, ScoreError
from cear.core.types import NO_ENTITY, SPLITS, Bools, Floats, Ints, Ranks
from cear.data import KnowledgeBase, KnownAnswers
from cear.evaluation.evaluation import Evaluation
from cear.evaluation.ranking import Golds, as_mentions


def rank_in_lists(
    lists: Lists,
    scores: Floats,
    gold: Golds,
    known: KnownAnswers,
    outside: Ranks,
    heights: Floats | None = None,
) -> Ranks:
    """The filtered rank of each gold: within its list by `scores`, or behind its list as Stage 1 ranked it.

    Nothing is dropped: a gold that its list lacks keeps its Stage-1 rank, `outside`, behind whoever got into the list
    from below it or from a tie with it. Of several mentions of a gold the best counts. `heights` are Stage 1's scores
    of the golds, for lists that hold more than Stage 1's own best; without them nobody came from below.
    """
    entities = lists.candidates.entities
    _refuse_bad_scores(scores, entities)
    is_gold = as_mentions(gold).contains(entities)
    competes = (entities != NO_ENTITY) & ~is_gold & ~known.of_queries(lists.queries).contains(entities)
    found = is_gold.any(axis=1)
    height = np.max(scores, axis=1, where=is_gold, initial=-np.inf, keepdims=True)
    above = (competes & (scores > height)).sum(axis=1)
    tied = (competes & (scores == height)).sum(axis=1)
    from_below, from_tie = _overtakers(competes, lists.candidates.scores, outside, heights)
    behind = Ranks(outside.above + from_below + from_tie, outside.tied - from_tie)
    return Ranks(np.where(found, above, behind.above), np.where(found, tied, behind.tied))


def _overtakers(competes: Bools, stage1: Floats, outside: Ranks, heights: Floats | None) -> tuple[Ints, Ints]:
    """How many of a list Stage 1 had below a gold that is not in it, and how many beside it, (query,) each."""
    if heights is None:  # the list is Stage 1's own best: whoever is not above the gold was tied with it
        return np.zeros_like(outside.above), np.clip(competes.sum(axis=1) - outside.above, 0, outside.tied)
    below, beside = (competes & (stage1 < heights[:, None])), (competes & (stage1 == heights[:, None]))
    return below.sum(axis=1), np.minimum(beside.sum(axis=1), outside.tied)


def reranked(
    before: Evaluation,
    kb: KnowledgeBase,
    lists: Lists,
    scores: Floats,
    *,
    heights: Floats | None = None,
    seconds: float = 0.0,
) -> Evaluation:
    """The evaluation after Stage 2, which keeps the one before it as `before`; `heights` as in `rank_in_lists`."""
    same = np.array_equal(before.queries.entity, lists.queries.entity)
    if not same or not np.array_equal(before.queries.relation, lists.queries.relation):
        raise MismatchError("The lists are not those of the evaluated queries. Make them from the same queries.")
    known = kb.known(*SPLITS[: SPLITS.index(before.split) + 1], mentions=True)
    ranks = rank_in_lists(lists, scores, before.golds, known, before.ranks, heights)
    listed = np.asarray(before.golds.contains(lists.candidates.entities).any(axis=1))
    return replace(before, ranks=ranks, before=before, listed=listed, seconds=before.seconds + seconds)


def confusion(before: Evaluation, after: Evaluation) -> dict[str, int]:
    """How many queries have the gold first before and after, `01` being those that re-ranking put right."""
    first, second = (each.ranks.under(each.ties) <= 1 for each in (before, after))
    return {
        f"{int(a)}{int(b)}": int(((first == a) & (second == b)).sum()) for a in (False, True) for b in (False, True)
    }


def _refuse_bad_scores(scores: Floats, entities: Ints) -> None:
    if scores.shape != entities.shape:
        raise ScoreError(f"Scores of shape {scores.shape} for lists of shape {entities.shape}.")
    bad = ~np.isfinite(scores) & (entities != NO_ENTITY)
    if bad.any():
        raise ScoreError(
            f"The re-ranker gave {int(bad.sum())} scores that are not finite, the first in list "
            f"{int(np.argmax(bad.any(axis=1)))}. Was its training stable?"
        )
