"""A check for scores that were made with the gold in hand.

The known leak: code that prepares scores for filtering writes the gold's score into the slot of every known
answer. Its own filtered rank does not change, but the raw scores now tell where the gold is: in the block of
equal scores that holds the known answers and nobody else. Whoever makes candidate lists from such scores
hands the answer to the next stage.

The sign of it, query by query: all other known answers have exactly the gold's score, and no stranger (an
entity not known as an answer) has. Honest real-valued scores show it on no query; honest scores with many
ties (counts, constants) tie the gold with strangers too. On a large share of the queries it is not chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from cear.core.errors import LeakError
from cear.core.types import NO_ENTITY, Candidates, Ints, Ragged, Ranks
from cear.evaluation.ranking import rank

MAX_SHARE = 0.25  # of the checked queries that may show the sign
MIN_MARKED = 10  # queries that must show it before we speak: a handful can be chance in a tiny knowledge base


@dataclass(frozen=True)
class LeakReport:
    """How many queries could show the equal-score leak, and how many do."""

    queries: int
    checked: int
    """Queries that could show it: the gold, another known answer and a stranger are all among the scored."""
    marked: int
    """Queries in which all other known answers, and no stranger, have exactly the gold's score."""

    @property
    def share(self) -> float:
        """The share of the checked queries that show the sign."""
        return self.marked / self.checked if self.checked else 0.0

    @property
    def leaks(self) -> bool:
        """Whether so many queries show it that chance is no explanation."""
        return self.marked >= MIN_MARKED and self.share > MAX_SHARE


def find_equal_score_leak(ranked: Tensor | Candidates, gold: Ints, known: Ragged) -> LeakReport:
    """What scores (query, entity) or top-k lists, as retrieved and before any filter, show of the leak.

    `known` has a row per query: its answers in all splits, each once.
    """
    if isinstance(ranked, Candidates):
        return _report(*_counts_in_lists(ranked, gold, known))
    others = known.counts - _holds_gold(known, gold)
    filtered = rank(ranked, gold, known)
    retrieved = rank(ranked, gold, Ragged(np.zeros_like(known.offsets), known.values[:0]))
    return find_leak_in_ranks(retrieved, filtered, others, ranked.shape[1] - 1 - others)


def find_leak_in_ranks(retrieved: Ranks, filtered: Ranks, others: Ints, strangers: Ints) -> LeakReport:
    """What two rankings of the same scores, nothing filtered and known answers filtered, show of the leak.

    `others` is the number of known answers of each query beside the gold, `strangers` that of all who are neither.
    """
    return _report(others, retrieved.tied - filtered.tied, strangers, filtered.tied)


def refuse_leaks(report: LeakReport) -> None:
    """Raise `LeakError` when the report shows a leak."""
    if report.leaks:
        raise LeakError(
            f"In {report.marked:,} of {report.checked:,} queries ({report.share:.0%}) the gold has exactly "
            "the score of all other known answers and of no other entity: these scores were made with the "
            "gold in hand. Score entities from the query alone, and leave filtering to the evaluation."
        )


def _report(others: Ints, others_tied: Ints, strangers: Ints, strangers_tied: Ints) -> LeakReport:
    """The report from counts per query: known answers, strangers, and how many of each tie with the gold."""
    checked = (others > 0) & (strangers > 0)
    marked = checked & (others_tied == others) & (strangers_tied == 0)
    return LeakReport(len(others), int(checked.sum()), int(marked.sum()))


def _counts_in_lists(lists: Candidates, gold: Ints, known: Ragged) -> tuple[Ints, Ints, Ints, Ints]:
    """The counts of `_report` within each list; all zero where the gold is not in the list."""
    is_gold = lists.entities == gold[:, None]
    gold_score = np.where(is_gold, lists.scores, -np.inf).max(axis=1, keepdims=True)
    there = is_gold.any(axis=1, keepdims=True) & (lists.entities != NO_ENTITY) & ~is_gold
    is_known = known.contains(lists.entities)
    tied = lists.scores == gold_score
    groups = (is_known, is_known & tied, ~is_known, ~is_known & tied)
    others, others_tied, strangers, strangers_tied = ((there & group).sum(axis=1) for group in groups)
    return others, others_tied, strangers, strangers_tied


def _holds_gold(known: Ragged, gold: Ints) -> Ints:
    """1 for each query whose known answers include its gold, else 0."""
    return np.bincount(known.rows[known.values == gold[known.rows]], minlength=len(known))
