"""Lists of the towns, and re-rankers on a tiny encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cear.candidates import Lists, Manifest, Retrievers, make_lists
from cear.data import KnowledgeBase
from cear.reranking import SequenceConfig, SequenceReranker
from cear.retrieval import Stage1Config, build_scorer

SMALL: dict[str, Any] = {"hidden": 8, "max_tokens": 200, "text": "name"}


@pytest.fixture
def lists(towns: KnowledgeBase) -> Lists:
    """Six candidates for each training query, by a Stage 1 that knows nothing."""
    scorer = build_scorer(Stage1Config(rank=4, init_scale=0.5), 30, 3, seed=5)
    manifest = Manifest("towns", towns.digest, "train", 6, "keep", "random")
    return make_lists(Retrievers(towns, scorer, {}), towns.known("train").queries, manifest)


@pytest.fixture
def reranker_of(towns: KnowledgeBase, encoder_of: Callable[..., str]) -> Callable[..., SequenceReranker]:
    """A fresh re-ranker of the towns with these settings."""

    def make(family: str = "bert", *, positions: int = 64, seed: int = 0, **settings: Any) -> SequenceReranker:
        folder = encoder_of(family, positions)
        config = SequenceConfig.model_validate(SMALL | {"encoder": folder} | settings)
        return SequenceReranker(towns, config, seed=seed)

    return make
