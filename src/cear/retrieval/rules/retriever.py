"""Stage 1 by rules: scores from the rules that fire, and the rules themselves as reasons."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from cear.core.context import Context
from cear.core.devices import runs_kernels, tensor
from cear.core.types import Floats, Ints, Queries
from cear.data import KnowledgeBase
from cear.retrieval.rules.evidence import Evidence, Facts
from cear.retrieval.rules.kernels import score_queries
from cear.retrieval.rules.plain import RulesOnDevice
from cear.retrieval.rules.reasons import FiredRule, fired_rules
from cear.retrieval.rules.rulebook import RuleBook


class RuleRetriever:
    """Ranks entities by the rules that fire for them; nothing is trained.

    On the CPU compiled loops find the rules that fire, on any other device PyTorch does.
    The score of an entity is Σ decayⁱ · -log(1 - cᵢ) over the confidences c₀ ≥ c₁ ≥ … of the best rules of a kind
    that fire for it, summed over the three kinds with their weights, plus `frequency` times its share of the
    relation's answers. With decay and weights 1 and frequency 0 it is -log(1 - p) of the noisy-or p.
    """

    def __init__(self, book: RuleBook, device: torch.device | str = "cpu") -> None:
        self.book = book
        self.device = torch.device(device)
        self._facts = Facts.of(book.graph)
        self._evidence = Evidence.of(book)
        self._plain: RulesOnDevice | None = None
        if not runs_kernels(self.device):
            self._plain = RulesOnDevice(self._facts, self._evidence, book.config, self.device)

    @property
    def n_entities(self) -> int:
        """The number of entities that are ranked."""
        return self.book.graph.n_entities

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The score of every entity, or of those in `among`, as the answer: (query, entity), all finite."""
        config = self.book.config
        scores = config.frequency * self._shares(queries.relation)
        if self._plain is None:
            score_queries(queries, self._facts, self._evidence, config, scores)
            found = torch.from_numpy(scores)
        else:
            found = self._plain(queries).add_(tensor(scores, self.device))
        return found if among is None else found[:, tensor(among, self.device)]

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        """The scores of the entities in each row: rules fire for a query, so everybody is scored and some are taken."""
        return self.score_all(queries).gather(1, tensor(entities, self.device))

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> RuleRetriever:
        """The same rules, which fire for new entities too; nothing is counted again."""
        del first_new, context
        return RuleRetriever(self.book.extended(kb.facts("train"), kb.n_entities), self.device)

    def reasons(self, entity: int, relation: int, answer: int, n: int | None = None) -> list[FiredRule]:
        """The n rules that speak most for `answer` as the answer of ⟨entity, relation, ?⟩, or all of them."""
        return fired_rules(self.book, self._evidence, entity, relation, answer, n)

    def _shares(self, relations: Ints) -> Floats:
        """Each entity's share of all answers that a relation has, (relation, entity)."""
        graph = self.book.graph
        asked, row = np.unique(relations, return_inverse=True)
        shares = np.zeros((len(asked), self.n_entities), np.float32)
        for share, relation in zip(shares, asked, strict=True):
            first, last = graph.members.offsets[np.searchsorted(graph.relation, [relation, relation + 1])]
            share += np.bincount(graph.members.values[first:last], minlength=self.n_entities) / max(last - first, 1)
        return shares[row]
