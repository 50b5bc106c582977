"""Stage 1 by the path network: it ranks whom paths lead to."""

from __future__ import annotations

import torch
from torch import Tensor

from cear.core.context import Context
from cear.core.devices import device_of, tensor
from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase
from cear.retrieval.paths.graph import Graph
from cear.retrieval.paths.network import PathNetwork


class PathRetriever:
    """A trained network over a graph; another graph with the same relations does as well."""

    def __init__(self, network: PathNetwork, graph: Graph) -> None:
        self.network, self.graph = network, graph

    @property
    def n_entities(self) -> int:
        """The number of entities that are ranked."""
        return self.graph.n_entities

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The score of every entity, or of those in `among`, as the answer: (query, entity)."""
        rows = [self._row(*query) for query in zip(queries.entity.tolist(), queries.relation.tolist(), strict=True)]
        device = device_of(self.network)
        scores = torch.stack(rows) if rows else torch.zeros(0, self.n_entities, device=device)
        return scores if among is None else scores[:, tensor(among, device)]

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        """The scores of the entities in each row: messages reach everybody at once, so some are taken of all."""
        return self.score_all(queries).gather(1, tensor(entities, device_of(self.network)))

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> PathRetriever:
        """The same network over a graph with new entities: it knows relations, and no entity by name."""
        del first_new, context
        return PathRetriever(self.network, Graph.of(kb.facts("train"), kb.n_entities, kb.n_relations))

    def _row(self, entity: int, relation: int) -> Tensor:
        reach = self.graph.around(entity, len(self.network.layers))
        reached: Tensor
        others: Tensor
        reached, others = self.network(relation, reach)
        return others.repeat(self.n_entities).index_copy(0, tensor(reach.nodes, reached.device), reached)
