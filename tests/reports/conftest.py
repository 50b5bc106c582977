"""A small evaluation for the reports' tests."""

import numpy as np
import pytest
import torch

from cear.data import KnowledgeBase, Vocabulary
from cear.evaluation import evaluate
from cear.reports import Provenance


class RandomScorer:
    def score_all(self, queries):
        generator = torch.Generator().manual_seed(0)
        return torch.randn(20, 20, generator=generator)[torch.as_tensor(queries.entity)]


@pytest.fixture
def evaluation():
    facts = np.stack([np.arange(20), np.arange(20) % 2, np.arange(20)[::-1]], axis=1)
    entities = Vocabulary.from_ids("entity", [f"e{i}" for i in range(20)])
    relations = Vocabulary.from_ids("relation", ["r0", "r1"])
    kb = KnowledgeBase("toy", entities, relations, {"train": facts[:12], "test": facts[12:]})
    return evaluate(RandomScorer(), kb, "test")


@pytest.fixture
def provenance():
    return Provenance.collect(
        config={"model": "complex", "rank": 8}, data="toy", digest="abc", seconds=12.5, command="cear evaluate runs/x"
    )
