"""The scorers by name."""

from __future__ import annotations

from collections.abc import Callable

import torch

from cear.errors import ConfigError
from cear.retrieval.complex import ComplEx
from cear.retrieval.config import Stage1Config
from cear.retrieval.distmult import DistMult
from cear.retrieval.rotate import RotatE
from cear.retrieval.scorer import Scorer
from cear.retrieval.transe import TransE

MODELS: dict[str, Callable[[int, int, Stage1Config, torch.Generator], Scorer]] = {
    "complex": ComplEx,
    "distmult": DistMult,
    "rotate": RotatE,
    "transe": TransE,
}


def build_scorer(config: Stage1Config, n_entities: int, n_relations: int, *, seed: int = 0) -> Scorer:
    """A fresh scorer of this configuration."""
    if config.model not in MODELS:
        raise ConfigError(f"{config.model!r} is no scorer to be built; `train_stage1` learns it. Scorers: {[*MODELS]}.")
    generator = torch.Generator().manual_seed(seed)
    return MODELS[config.model](n_entities, n_relations, config, generator)
