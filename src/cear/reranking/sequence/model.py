"""The cross-entity aware re-ranker: an encoder over the whole list, one score per candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from cear.reranking.features import N_FEATURES
from cear.reranking.sequence.config import SequenceSettings
from cear.reranking.sequence.sequences import SequenceBatch

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class CrossEntityModel(nn.Module):
    """Encoder states, mean-pooled per candidate, through a small head.

    With `features: scores` the head also reads what Stage 1 says, and its output is added to Stage 1's
    log-probability; its last layer starts at zero, so that an untrained model is Stage 1.
    """

    def __init__(self, encoder: PreTrainedModel, config: SequenceSettings, *, seed: int) -> None:
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
        pooled = mean_pool(states, batch)
        if not self.with_scores:
            scores: Tensor = self.head(pooled).squeeze(-1)
            return scores
        change: Tensor = self.head(torch.cat([pooled, features], -1)).squeeze(-1)
        return change + self.scale * features[..., 0]


def mean_pool(states: Tensor, batch: SequenceBatch) -> Tensor:
    """The mean state of each candidate's tokens, (sequence, position, width) -> (sequence, k, width)."""
    n, _, width = states.shape
    total = states.new_zeros(n * batch.k, width).index_add(0, batch.owner, states.flatten(0, 1)[batch.token])
    return (total / batch.counts.to(total.dtype).unsqueeze(-1)).view(n, batch.k, width)
