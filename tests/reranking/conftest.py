"""Lists of the towns, and re-rankers on a tiny encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cear.candidates import Lists, Manifest, Retrievers, make_lists
from cear.core.context import Context
from cear.data import KnowledgeBase
from cear.reranking import SequenceConfig, SequenceReranker, Upstream
from cear.retrieval import ComplExConfig, RowsConfig

SMALL: dict[str, Any] = {"hidden": 8, "max_tokens": 200, "text": "name"}


@pytest.fixture
def lists(towns: KnowledgeBase) -> Lists:
    """Six candidates for each training query, by a Stage 1 that knows nothing."""
    scorer = ComplExConfig(rank=4, embedding=RowsConfig(scale=0.5)).build(towns, Context(seed=5))
    manifest = Manifest("towns", towns.digest, "train", 6, "keep", "random")
    return make_lists(Retrievers(towns, scorer), towns.known("train").queries, manifest)


@pytest.fixture
def reranker_of(towns: KnowledgeBase, encoder_of: Callable[..., str]) -> Callable[..., SequenceReranker]:
    """A fresh re-ranker of the towns with these settings."""

    def make(family: str = "bert", *, positions: int = 64, seed: int = 0, **settings: Any) -> SequenceReranker:
        folder = encoder_of(family, positions)
        config = SequenceConfig.model_validate(SMALL | {"encoder": folder} | settings)
        return config.build(Upstream(towns), Context(seed=seed))

    return make
