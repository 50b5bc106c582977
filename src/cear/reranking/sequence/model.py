"""The cross-entity aware re-ranker: an encoder over the whole list, one score per candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from cear.core.errors import ConfigError
from cear.reranking.sequence.config import SequenceSettings
from cear.reranking.sequence.features import n_features
from cear.reranking.sequence.sequences import SequenceBatch

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class CrossEntityModel(nn.Module):
    """Encoder states, mean-pooled per candidate, through a small head.

    With `features: scores` the head also reads what Stage 1 says (and with `extra_scores` the `extra` retrievers beside
    it), and its output is added to Stage 1's
    log-probability, or raw score; its last layer starts at zero, so that an untrained model is Stage 1. With
    `flag_known` the tokens of a known answer have token type 1.
    """

    def __init__(self, encoder: PreTrainedModel, config: SequenceSettings, *, seed: int, extra: int = 0) -> None:
        super().__init__()
        self.encoder = encoder
        self.with_scores, self.with_flags = config.features == "scores", config.flag_known
        self.normalizes = self.with_scores and (config.extra_scores or not config.list_inputs)
        features = n_features(config, extra)
        if self.with_flags:
            _refuse_one_token_type(encoder)
        width = encoder.config.hidden_size + (features if self.with_scores else 0)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            last = nn.Linear(config.hidden, 1)
            self.head = nn.Sequential(nn.Linear(width, config.hidden), nn.ReLU(), last)
        if self.with_scores:
            self.scale = nn.Parameter(torch.ones(()))
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
        self.mean: Tensor
        self.deviation: Tensor
        if self.normalizes:
            self.register_buffer("mean", torch.zeros(features))
            self.register_buffer("deviation", torch.ones(features))

    def fit_normalizer(self, features: Tensor) -> None:
        """Take the mean and deviation of each feature, (candidate, feature), where the head reads raw scores."""
        if self.normalizes:
            self.mean.copy_(features.mean(0))
            self.deviation.copy_(features.std(0).clamp_min(1e-6))

    def forward(self, batch: SequenceBatch, features: Tensor) -> Tensor:
        """The score of each candidate, (sequence, k), from its tokens and features, (sequence, k, feature)."""
        types = {"token_type_ids": _types_of(batch, features[..., -1])} if self.with_flags else {}
        states = self.encoder(input_ids=batch.tokens, attention_mask=batch.mask.long(), **types).last_hidden_state
        pooled = mean_pool(states, batch)
        if not self.with_scores:
            scores: Tensor = self.head(pooled).squeeze(-1)
            return scores
        said = (features - self.mean) / self.deviation if self.normalizes else features
        change: Tensor = self.head(torch.cat([pooled, said], -1)).squeeze(-1)
        return change + self.scale * features[..., 0]


def _types_of(batch: SequenceBatch, flags: Tensor) -> Tensor:
    """The token type of every position, (sequence, position): 1 for the tokens of a candidate with a flag."""
    types = torch.zeros_like(batch.tokens).flatten()
    return types.index_put((batch.token,), flags.flatten()[batch.owner].to(types.dtype)).view_as(batch.tokens)


def _refuse_one_token_type(encoder: PreTrainedModel) -> None:
    types = getattr(encoder.config, "type_vocab_size", 0)
    if types < 2:
        raise ConfigError(
            f"reranker.flag_known marks known answers by a second token type, and {type(encoder).__name__} has "
            f"{types}. Take an encoder in the manner of BERT, such as encoder: embedded, or set it to false."
        )


def mean_pool(states: Tensor, batch: SequenceBatch) -> Tensor:
    """The mean state of each candidate's tokens, (sequence, position, width) -> (sequence, k, width)."""
    n, _, width = states.shape
    total = states.new_zeros(n * batch.k, width).index_add(0, batch.owner, states.flatten(0, 1)[batch.token])
    return (total / batch.counts.to(total.dtype).unsqueeze(-1)).view(n, batch.k, width)
