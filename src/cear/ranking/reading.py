"""Lists as the ranker reads them: what both stages say of every candidate."""

from __future__ import annotations

from dataclasses import dataclass

from cear.candidates import Lists
from cear.core.types import Floats


@dataclass(frozen=True, eq=False)
class Reading:
    """The lists of some queries, with the scores of both stages."""

    lists: Lists
    """Candidates in Stage 1's order, with what every retriever says of them."""
    stage2: Floats  # (query, candidate): the last stage's own scores
    final: Floats  # (query, candidate): what orders the list; -inf where it is padded or an answer is known
