"""Four towns, two islands, one country and a lonely rock; a Stage 1 whose shares can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from cear.candidates import Retrievers
from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase, Vocabulary
from cear.ranking import Ranker
from cear.retrieval import RuleRetriever, RuleSettings, learn_rules

NAMES = ["Copenhagen", "Roskilde", "Køge", "Aarhus", "Zealand", "Jutland", "Denmark", "Rockall"]
# Three towns on Zealand, one on Jutland; all are known to be in Denmark but Køge. Nothing is known of Rockall.
FACTS = [[0, 0, 4], [1, 0, 4], [2, 0, 4], [3, 0, 5], [0, 1, 6], [1, 1, 6], [3, 1, 6]]
WEIGHTS = [1, 1, 1, 1, 2, 4, 8, 2]  # what each entity's score is the logarithm of


class FixedScores:
    """A Stage 1 that has one score for each entity, whatever is asked."""

    n_entities = len(WEIGHTS)

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        scores = torch.log(torch.tensor(WEIGHTS, dtype=torch.float32)).repeat(len(queries), 1)
        return scores if among is None else scores[:, among]

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        return self.score_all(queries).gather(1, torch.from_numpy(entities))


@pytest.fixture(scope="session")
def isles() -> KnowledgeBase:
    relations = Vocabulary.from_ids("relation", ["on", "in"], names=["on island", "in country"])
    entities = Vocabulary.from_ids("entity", [f"e{i}" for i in range(8)], names=NAMES)
    return KnowledgeBase("isles", entities, relations, {"train": np.array(FACTS)})


@pytest.fixture
def ranker_of(isles: KnowledgeBase) -> Callable[..., Ranker]:
    """A ranker of the isles with rules beside Stage 1, and whatever else."""
    settings = RuleSettings(min_support=1, min_confidence=0, max_length=2)
    rules = RuleRetriever(learn_rules(isles.facts("train"), 8, 2, settings))

    def make(**parts: Any) -> Ranker:
        return Ranker(Retrievers(isles, FixedScores(), {"rules": rules}), **({"k": 8} | parts))

    return make


@pytest.fixture
def ask() -> Callable[..., Queries]:
    """Queries from pairs of an entity and a relation."""
    return lambda *pairs: Queries(*np.array(pairs).reshape(-1, 2).T)
