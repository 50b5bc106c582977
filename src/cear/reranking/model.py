"""The cross-entity aware re-ranker: an encoder over the whole list, one score per candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from cear.reranking.config import SequenceConfig
from cear.reranking.features import N_FEATURES
from cear.reranking.sequences import SequenceBatch

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class CrossEntityModel(nn.Module):
    """Encoder states, mean-pooled per candidate, through a small head.

    With `features: scores` the head also reads what Stage 1 says, and its output is added to Stage 1's
    log-probability; its last layer starts at zero, so that an untrained model is Stage 1.
    """

    def __init__(self, encoder: PreTrainedModel, config: SequenceConfig, *, seed: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.with_scores = config.features == "scores"
        width = encoder.config.hidden_size + (N_FEATURES if self.with_scores else 0)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            last = nn.Linear(config.hidden, 1)
            self.head = nn.Sequential(nn.Linear(width, config.hidden), nn.ReLU(), last)
        if self.with_scores:
            self.scale = nn.Parameter(torch.ones(()))
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)

    def forward(self, batch: SequenceBatch, features: Tensor) -> Tensor:
        """The score of each candidate, (sequence, k); `features` are Stage 1's, (sequence, k, 3)."""
        states = self.encoder(input_ids=batch.tokens, attention_mask=batch.mask.long()).last_hidden_state
        pooled = mean_pool(states, batch.slots, batch.k)
        if not self.with_scores:
            scores: Tensor = self.head(pooled).squeeze(-1)
            return scores
        change: Tensor = self.head(torch.cat([pooled, features], -1)).squeeze(-1)
        return change + self.scale * features[..., 0]


def mean_pool(states: Tensor, slots: Tensor, k: int) -> Tensor:
    """The mean state of each candidate's tokens, (sequence, position, width) -> (sequence, k, width)."""
    n, _, width = states.shape
    sequence, position = torch.nonzero(slots >= 0, as_tuple=True)
    where = sequence * k + slots[sequence, position]
    total = states.new_zeros(n * k, width).index_add(0, where, states[sequence, position])
    count = torch.bincount(where, minlength=n * k).clamp_min(1).unsqueeze(-1)
    return (total / count).view(n, k, width)
