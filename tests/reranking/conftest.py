"""Lists of the towns, and re-rankers on a tiny encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cear.candidates import Lists, make_lists
from cear.data import KnowledgeBase
from cear.reranking import SequenceConfig, SequenceReranker
from cear.retrieval import Stage1Config, build_scorer

SMALL: dict[str, Any] = {"hidden": 8, "max_tokens": 200, "text": "name"}


@pytest.fixture
def lists(towns: KnowledgeBase) -> Lists:
    """Six candidates for each training query, by a Stage 1 that knows nothing."""
    scorer = build_scorer(Stage1Config(rank=4, init_scale=0.5), 30, 3, seed=5)
    return make_lists(scorer, towns, towns.known("train").queries, k=6, known="keep", split="train", model="random")


@pytest.fixture
def reranker_of(towns: KnowledgeBase, encoder_of: Callable[..., str]) -> Callable[..., SequenceReranker]:
    """A fresh re-ranker of the towns with these settings."""

    def make(family: str = "bert", *, positions: int = 64, seed: int = 0, **settings: Any) -> SequenceReranker:
        folder = encoder_of(family, positions)
        config = SequenceConfig.model_validate(SMALL | {"encoder": folder} | settings)
        return SequenceReranker(towns, config, seed=seed)

    return make
