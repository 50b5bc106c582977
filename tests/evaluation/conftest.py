"""Small knowledge bases and scorers for the evaluation's tests."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase, Vocabulary

KbMaker = Callable[..., KnowledgeBase]


def make_kb(splits: dict[str, Ints], *, n_entities: int, n_relations: int) -> KnowledgeBase:
    entities = Vocabulary.from_ids("entity", [f"e{i}" for i in range(n_entities)])
    relations = Vocabulary.from_ids("relation", [f"r{i}" for i in range(n_relations)])
    return KnowledgeBase("toy", entities, relations, splits)


def make_random_kb(seed: int = 0, *, n_entities: int = 40, n_relations: int = 3, n_facts: int = 400) -> KnowledgeBase:
    """Facts drawn at random, each once, three quarters of them for training; queries have several answers."""
    rng = np.random.default_rng(seed)
    shape = (n_entities, n_relations, n_entities)
    cells = rng.choice(np.prod(shape), n_facts, replace=False)
    train, valid, test = np.split(
        np.stack(np.unravel_index(cells, shape), axis=1), [n_facts * 3 // 4, n_facts * 7 // 8]
    )
    splits = {"train": train, "valid": valid, "test": test}
    return make_kb(splits, n_entities=n_entities, n_relations=n_relations)


@dataclass
class TableScorer:
    """Scores read from a table, (relation and reciprocal, entity, entity); remembers what it was asked."""

    table: torch.Tensor

    def __post_init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def score_all(self, queries: Queries) -> torch.Tensor:
        self.asked += zip(queries.entity.tolist(), queries.relation.tolist(), strict=True)
        return self.table[torch.as_tensor(queries.relation), torch.as_tensor(queries.entity)]


def make_scorer(kb: KnowledgeBase, seed: int = 0, *, values: int | None = None) -> TableScorer:
    """Random normal scores, or with `values` random integers that tie often."""
    generator = torch.Generator().manual_seed(seed)
    shape = (2 * kb.n_relations, kb.n_entities, kb.n_entities)
    if values is None:
        return TableScorer(torch.randn(shape, generator=generator))
    return TableScorer(torch.randint(values, shape, generator=generator).float())


@pytest.fixture
def kb_of() -> KbMaker:
    return make_kb


@pytest.fixture
def random_kb() -> KbMaker:
    return make_random_kb


@pytest.fixture
def scorer_for() -> Callable[..., TableScorer]:
    return make_scorer


@pytest.fixture
def table_scorer() -> type[TableScorer]:
    return TableScorer
