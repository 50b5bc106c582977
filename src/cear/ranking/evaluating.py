"""The evaluation of a ranker: the list first, in its final order, then everything else as Stage 1 has it."""

from __future__ import annotations

import time
from dataclasses import replace

from cear.core.progress import Progress, silent
from cear.core.types import Ints, Protocol, Split, TieRule
from cear.evaluation import Asked, Evaluation, sample_facts
from cear.ranking.ranker import Ranker


def evaluate_ranker(
    ranker: Ranker,
    split: Split,
    *,
    ties: TieRule = "expected",
    protocol: Protocol = "ours",
    facts: int | None = None,
    among: Ints | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Evaluation:
    """The ranks of both questions of every fact of a split, or of a fixed sample of so many facts.

    `among` leaves out all facts of the split but those at these places.

    With a second stage, the evaluation of Stage 1 alone is its `before`. The protocol `care` ranks clusters of
    mentions, and filters training answers only.
    """
    start = time.perf_counter()
    which = among if facts is None else sample_facts(ranker.kb, split, facts, among=among, seed=seed)
    asked = Asked.of(ranker.kb, split, which, protocol=protocol)
    places = ranker.places(asked.queries, asked.golds, asked.filters, progress=progress)
    before = asked.evaluation(places.ranks, ties=ties, seconds=time.perf_counter() - start)
    if places.lists is None:
        return before
    ranks = places.after(ranker.final_scores(places.lists, progress=progress), asked.known)
    seconds = time.perf_counter() - start
    return replace(before, ranks=ranks, before=before, listed=places.listed, seconds=seconds)


def confusion(before: Evaluation, after: Evaluation) -> dict[str, int]:
    """How many queries have the gold first before and after, `01` being those that re-ranking put right."""
    first, second = (each.ranks.under(each.ties) <= 1 for each in (before, after))
    return {
        f"{int(a)}{int(b)}": int(((first == a) & (second == b)).sum()) for a in (False, True) for b in (False, True)
    }
