"""KG-BERT's network: the state of the first token of a sequence, through dropout and one linear layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from cear.texts import TokenBatch

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class SequenceClassifier(nn.Module):
    """W · state of [CLS] + b, with dropout before it (Yao, Mao & Luo 2019, Eq. 1 and 3, before the sigmoid)."""

    def __init__(self, encoder: PreTrainedModel, *, outputs: int, dropout: float, seed: int) -> None:
        super().__init__()
        self.encoder, self.dropout = encoder, nn.Dropout(dropout)
        self._has_segments = getattr(encoder.config, "type_vocab_size", 0) > 1
        with torch.random.fork_rng(devices=[]):  # fresh weights depend on the seed alone
            torch.manual_seed(seed)
            self.head = nn.Linear(encoder.config.hidden_size, outputs)

    def forward(self, batch: TokenBatch) -> Tensor:
        """A logit for each output, (sequence, output)."""
        segments = {"token_type_ids": batch.segments} if self._has_segments else {}
        states = self.encoder(input_ids=batch.tokens, attention_mask=batch.mask, **segments).last_hidden_state
        logits: Tensor = self.head(self.dropout(states[:, 0]))
        return logits
