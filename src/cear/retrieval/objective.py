"""What the training of a scorer minimises, as functions of a scorer and facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from cear.core.devices import tensor
from cear.core.types import Ints
from cear.retrieval.losses import Loss, SoftmaxLoss

if TYPE_CHECKING:
    from cear.retrieval.scorer import Scorer


@dataclass(frozen=True)
class Objective:
    """Loss, regulariser and relation prediction; the defaults are those of ComplEx-N3 (Lacroix et al. 2018)."""

    loss: Loss = field(default_factory=SoftmaxLoss)
    p: float = 3.0
    """The power of the regulariser."""
    weight: float = 0.05
    """Of the regulariser."""
    relations_weight: float = 0.0
    """Of predicting relations."""


def lp_norm(scorer: Scorer, facts: Ints, p: float) -> Tensor:
    """Mean over facts of Σ |s|ᵖ + |r|ᵖ + |o|ᵖ; p = 3 is the nuclear 3-norm (Lacroix et al. 2018, Eq. 5).

    Each embedding is looked up once and counted as often as the facts use it.
    """
    entities, entity_counts = np.unique(facts[:, [0, 2]], return_counts=True)
    relations, relation_counts = np.unique(facts[:, 1], return_counts=True)
    of_entities = _counted(scorer.entity_moduli(entities).pow(p).sum(-1), entity_counts)
    of_relations = _counted(scorer.relation_moduli(relations).pow(p).sum(-1), relation_counts)
    return (of_entities + of_relations) / len(facts)


def _counted(values: Tensor, counts: Ints) -> Tensor:
    """The sum of values, each as often as it counts."""
    return torch.dot(values, tensor(counts.astype(np.float32), values.device))


def relation_loss(scorer: Scorer, facts: Ints) -> Tensor:
    """Mean over facts of -log P(r | s, o) (Chen et al. 2021, Eq. 3)."""
    scores = scorer.score_relations(facts).float()
    return nn.functional.cross_entropy(scores, tensor(facts[:, 1], scores.device))
