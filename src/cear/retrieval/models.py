"""The scorers by name."""

from __future__ import annotations

from collections.abc import Callable

import torch

from cear.core.errors import ConfigError
from cear.data import KnowledgeBase
from cear.retrieval.complex import ComplEx
from cear.retrieval.complex_lstm import ComplExLSTM
from cear.retrieval.config import Stage1Config
from cear.retrieval.distmult import DistMult
from cear.retrieval.names import Names
from cear.retrieval.rotate import RotatE
from cear.retrieval.scorer import Scorer
from cear.retrieval.transe import TransE

MODELS: dict[str, Callable[[int, int, Stage1Config, torch.Generator], Scorer]] = {
    "complex": ComplEx,
    "distmult": DistMult,
    "rotate": RotatE,
    "transe": TransE,
}
TEXT_MODELS: dict[str, Callable[[Names, Stage1Config, torch.Generator], Scorer]] = {
    "complex_lstm": ComplExLSTM,
}  # those that read names


def scorer_for(kb: KnowledgeBase, config: Stage1Config, *, seed: int = 0) -> Scorer:
    """A fresh scorer of this configuration for a knowledge base: of its size, or with its names."""
    if config.model in TEXT_MODELS:
        generator = torch.Generator().manual_seed(seed)
        return TEXT_MODELS[config.model](Names.of(kb, config.lstm), config, generator).eval()
    return build_scorer(config, kb.n_entities, kb.n_relations, seed=seed)


def build_scorer(config: Stage1Config, n_entities: int, n_relations: int, *, seed: int = 0) -> Scorer:
    """A fresh scorer of this configuration and size."""
    if config.model in TEXT_MODELS:
        raise ConfigError(f"{config.model!r} reads names, and sizes have none. Use scorer_for(kb, config).")
    if config.model not in MODELS:
        raise ConfigError(f"{config.model!r} is no scorer to be built; `train_stage1` learns it. Scorers: {[*MODELS]}.")
    generator = torch.Generator().manual_seed(seed)
    return MODELS[config.model](n_entities, n_relations, config, generator).eval()
