"""The wide re-ranker's network: one token for the query, one for each candidate, attention over all of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cear.reranking.wide.config import WideSettings


@dataclass(frozen=True, slots=True, eq=False)
class WideBatch:
    """What the network reads of some lists."""

    relation: Tensor  # (list,)
    query_text: Tensor | None  # (list, 2 text width): subject and relation
    candidate_text: Tensor | None  # (list, candidate, text width)
    features: Tensor  # (list, candidate, feature): Stage 1's log-probability, or its score, first
    real: Tensor | None  # (list, candidate): False where padded; None where nothing is, which is faster
    query_vector: Tensor | None = None  # (list, vector width)
    candidate_vector: Tensor | None = None  # (list, candidate, vector width)


class Layer(nn.Module):
    """A transformer layer, normalised first. Attention has no dropout, which keeps it fused in training and at use."""

    def __init__(self, config: WideSettings) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.before_attention, self.before_hidden = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value, self.seen = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.dropout = nn.Dropout(config.dropout)
        self.hidden = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), self.dropout, nn.Linear(4 * width, width))

    def forward(self, tokens: Tensor, visible: Tensor | None) -> Tensor:
        """The next states, (list, token, width); `visible` says who may see whom, None that all see all."""
        q, k, v = self._query_key_value(tokens)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=visible).transpose(1, 2).flatten(2)
        tokens = tokens + self.dropout(self.seen(seen))
        states: Tensor = tokens + self.dropout(self.hidden(self.before_hidden(tokens)))
        return states

    def attention(self, tokens: Tensor, visible: Tensor | None) -> Tensor:
        """softmax(q k / √width), (list, head, seeing, seen): what `forward` weighs values with, and never holds."""
        q, k, _ = self._query_key_value(tokens)
        weights: Tensor = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        return (weights if visible is None else weights.masked_fill(~visible, -torch.inf)).softmax(-1)

    def _query_key_value(self, tokens: Tensor) -> Tensor:
        """Queries, keys and values, (3, list, head, token, width of a head)."""
        parts: Tensor = self.query_key_value(self.before_attention(tokens)).unflatten(-1, (3, self.heads, -1))
        return parts.permute(2, 0, 3, 1, 4)


class WideModel(nn.Module):
    """Score = scaled Stage-1 log-probability, or score, + a head over a small transformer.

    The head starts at zero, so that an untrained model is Stage 1. Candidates have no positions: a list in another
    order has the same scores in that order.
    """

    def __init__(
        self, config: WideSettings, *, relations: int, text_width: int, vector_width: int, features: int, seed: int
    ) -> None:
        super().__init__()
        self.config = config
        width = config.width
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.relation = nn.Embedding(relations, width)
            self.features = nn.Sequential(nn.Linear(features, width), nn.GELU(), nn.Linear(width, width))
            self.kind = nn.Parameter(torch.randn(2, width) * 0.02)  # a query or a candidate
            if config.text:
                self.query_text = nn.Linear(2 * text_width, width)
                self.candidate_text = nn.Linear(2 * text_width, width, bias=False)
            if config.vectors:
                self.query_vector = nn.Linear(vector_width, width)
                self.candidate_vector = nn.Linear(2 * vector_width, width, bias=False)
            self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
            last = nn.Linear(width, 1)
            self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), last)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.scale = nn.Parameter(torch.ones(()))
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("deviation", torch.ones(features))

    def forward(self, batch: WideBatch) -> Tensor:
        """The score of each candidate, (list, candidate)."""
        tokens = self._tokens(batch)
        visible = self._visible(batch.real, tokens)
        for layer in self.layers:
            tokens = layer(tokens, visible)
        change: Tensor = self.head(tokens[:, 1:]).squeeze(-1)
        return self.scale * batch.features[..., 0] + change

    def attention(self, batch: WideBatch) -> Tensor:
        """Who looks at whom, (layer, list, head, seeing, seen): the query first, then the candidates."""
        tokens = self._tokens(batch)
        visible, found = self._visible(batch.real, tokens), []
        for layer in self.layers:
            assert isinstance(layer, Layer)
            found.append(layer.attention(tokens, visible))
            tokens = layer(tokens, visible)
        return torch.stack(found)

    def _tokens(self, batch: WideBatch) -> Tensor:
        """One token for the query and one for each candidate, (list, token, width)."""
        query: Tensor = self.relation(batch.relation) + self.kind[0]
        candidates: Tensor = self.features((batch.features - self.mean) / self.deviation) + self.kind[1]
        candidates = candidates + query.unsqueeze(1)  # which relation is asked for decides what a feature means
        if batch.query_text is not None and batch.candidate_text is not None:
            query = query + self.query_text(batch.query_text)
            subject = batch.query_text[:, : batch.candidate_text.shape[-1]].unsqueeze(1)
            both = torch.cat([batch.candidate_text, batch.candidate_text * subject], -1)
            candidates = candidates + self.candidate_text(both)
        if batch.query_vector is not None and batch.candidate_vector is not None:
            asked, found = (
                nn.functional.layer_norm(v, v.shape[-1:]) for v in (batch.query_vector, batch.candidate_vector)
            )
            query = query + self.query_vector(asked)
            candidates = candidates + self.candidate_vector(torch.cat([found, found * asked.unsqueeze(1)], -1))
        return torch.cat([query.unsqueeze(1), candidates], 1)

    def _visible(self, real: Tensor | None, tokens: Tensor) -> Tensor | None:
        """Who may see whom, (list, 1, seeing, seen): nobody sees padding; None where all see all, which is faster."""
        independent = self.config.attention == "independent"
        if real is None and not independent:
            return None
        n, places, _ = tokens.shape
        seen = torch.ones(n, 1, 1, places, dtype=torch.bool, device=tokens.device)
        if real is not None:
            seen = torch.cat([seen[:, 0, 0, :1], real], 1)[:, None, None, :]
        if not independent:
            return seen
        itself = torch.eye(places, dtype=torch.bool, device=tokens.device)
        itself[:, 0] = True  # a candidate sees the query and itself
        return seen & itself
