"""What becomes of a retriever when entities are added: it takes them, or they stand behind everybody it knows."""

from __future__ import annotations

import torch
from torch import Tensor

from cear.core.context import Context
from cear.core.devices import tensor
from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase
from cear.retrieval.retriever import Retriever, TakesNewEntities


class NewcomersBehind:
    """A retriever that cannot take new entities, and ranks them behind all that it knows.

    A newcomer's score is one less than the least of its query. Of a query about a newcomer it knows nothing, and all
    old entities have the score 0.
    """

    def __init__(self, retriever: Retriever, n_entities: int) -> None:
        self.retriever, self.n_entities = retriever, n_entities

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The score of every entity, or of those in `among`, as the answer: (query, entity), all finite."""
        n, old = self.retriever.n_entities, queries.entity < self.retriever.n_entities
        said = self.retriever.score_all(queries[old])
        scores = torch.zeros(len(queries), self.n_entities, device=said.device)
        scores[tensor(old, said.device), :n] = said.float()
        scores[:, n:] = scores[:, :n].amin(1, keepdim=True) - 1
        return scores if among is None else scores[:, tensor(among, scores.device)]

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        """The scores of the entities in each row; everybody is scored, for the least score has to be known."""
        scores = self.score_all(queries)
        return scores.gather(1, tensor(entities, scores.device))


def with_new_entities(retriever: Retriever, kb: KnowledgeBase, first_new: int, context: Context) -> Retriever:
    """The retriever over a knowledge base with new entities, from number `first_new` on, as well as it can."""
    if isinstance(retriever, TakesNewEntities):
        return retriever.extended(kb, first_new, context)
    inner = retriever.retriever if isinstance(retriever, NewcomersBehind) else retriever
    return NewcomersBehind(inner, kb.n_entities)
