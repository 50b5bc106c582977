"""How long a ranking takes when a retriever is slow: told before it starts, and refused where that is too long."""

from __future__ import annotations

import logging

from cear.candidates import Retrievers
from cear.core.errors import TooSlow
from cear.core.types import Queries
from cear.retrieval import SlowToRank

log = logging.getLogger("cear.pipeline")

_UNITS = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0))


def refuse_slow(retrievers: Retrievers, queries: Queries, minutes: float | None) -> None:
    """Tell how long ranking these queries takes; raise `TooSlow` when that is more than `minutes`, None being no limit.

    Only retrievers that call themselves slow are measured: distinct queries × entities × seconds a score.
    """
    slow = [each for each in (retrievers.first, *retrievers.extra.values()) if isinstance(each, SlowToRank)]
    if not slow:
        return
    distinct, entities = len(queries.distinct()[0]), retrievers.kb.n_entities
    a_score = sum(each.seconds_a_score() for each in slow)
    seconds = distinct * entities * a_score
    estimate = (
        f"Ranking {distinct:,} queries among {entities:,} entities takes about {in_words(seconds)} here, "
        f"{1000 * a_score:.2g} ms a score."
    )
    if minutes is not None and seconds > 60 * minutes:
        raise TooSlow(
            f"{estimate} Start it nevertheless with --yes, rank a sample of the facts with --facts, or let a fast "
            "Stage 1 find candidates and a re-ranker read those."
        )
    log.info(estimate)


def in_words(seconds: float) -> str:
    """A time in the largest unit that it fills.

    >>> in_words(90), in_words(200_000), in_words(5)
    ('1.5 minutes', '2.3 days', '5.0 seconds')
    """
    unit, length = next(((name, length) for name, length in _UNITS if seconds >= length), ("seconds", 1.0))
    return f"{seconds / length:,.1f} {unit}"
