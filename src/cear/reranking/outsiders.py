"""What becomes of a re-ranker when entities are added: it reads them, or lists that hold them keep Stage 1's order."""

from __future__ import annotations

import numpy as np

from cear.candidates import Lists
from cear.core.context import Context
from cear.core.progress import Progress, silent
from cear.core.types import Floats
from cear.data import KnowledgeBase
from cear.reranking.reranker import Reranker, RereadsEntities


class OldEntitiesAlone:
    """A re-ranker that cannot read new entities: a list that has one, or a query about one, stays as Stage 1 has it."""

    def __init__(self, reranker: Reranker, first_new: int) -> None:
        """Entities from number `first_new` on are new."""
        self.reranker, self.first_new = reranker, first_new

    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        """A score for each candidate, (query, candidate); -inf where a list is padded."""
        new = (lists.queries.entity >= self.first_new) | (lists.candidates.entities >= self.first_new).any(axis=1)
        scores = lists.candidates.scores.astype(np.float32)
        if not new.all():
            scores[~new] = self.reranker.rerank(lists[~new], progress=progress)
        return scores


def rereading(reranker: Reranker, kb: KnowledgeBase, first_new: int, context: Context) -> Reranker:
    """The re-ranker over a knowledge base with new entities, from number `first_new` on, as well as it can."""
    if isinstance(reranker, RereadsEntities):
        return reranker.extended(kb, first_new, context)
    return reranker if isinstance(reranker, OldEntitiesAlone) else OldEntitiesAlone(reranker, first_new)
