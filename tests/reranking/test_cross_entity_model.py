"""The model: mean states of each candidate's tokens through a small head."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cear.reranking import SequenceConfig
from cear.reranking.sequence.model import CrossEntityModel, mean_pool
from cear.reranking.sequence.sequences import SequenceBatch

CPU = torch.device("cpu")


def batch_of(tokens: list[list[int]], slots: list[list[int]], k: int) -> SequenceBatch:
    """Sequences without padding; `slots` says whose each token is."""
    return SequenceBatch.of(np.array(tokens), np.ones((len(tokens), len(tokens[0])), bool), np.array(slots), k, CPU)


def test_mean_pool_on_paper() -> None:
    states = torch.tensor([[[9.0, 9.0], [1.0, 2.0], [3.0, 4.0], [5.0, 0.0]], [[1.0, 1.0]] * 4])
    batch = batch_of([[0] * 4] * 2, [[-1, 0, 0, 2], [-1, -1, -1, -1]], 3)
    pooled = mean_pool(states, batch)
    assert pooled.tolist() == [[[2.0, 3.0], [0.0, 0.0], [5.0, 0.0]], [[0.0, 0.0]] * 3]


class Echo(nn.Module):
    """An encoder whose state is the token itself, twice."""

    config = SimpleNamespace(hidden_size=2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        assert attention_mask.dtype == torch.int64, "the mask is always passed"
        return SimpleNamespace(last_hidden_state=input_ids.float().unsqueeze(-1).repeat(1, 1, 2))


BATCH = batch_of([[9, 4, 9, 6, 8]], [[-1, 0, -1, 1, 1]], 2)


def test_a_score_is_the_head_of_the_pooled_states() -> None:
    model = CrossEntityModel(Echo(), SequenceConfig(hidden=3), seed=0)  # type: ignore[arg-type]
    scores = model(BATCH, torch.zeros(1, 2, 3))
    assert scores.shape == (1, 2)
    expected = model.head(torch.tensor([[4.0, 4.0], [7.0, 7.0]])).squeeze(-1)
    torch.testing.assert_close(scores[0], expected)


def test_with_scores_an_untrained_model_is_stage_1() -> None:
    model = CrossEntityModel(Echo(), SequenceConfig(hidden=3, features="scores"), seed=0)  # type: ignore[arg-type]
    features = torch.tensor([[[-0.5, 0.6, 0.0], [-1.5, 0.2, 0.7]]])
    assert model(BATCH, features).tolist() == [[-0.5, -1.5]]


@pytest.mark.parametrize("features", ["none", "scores"])
def test_the_head_is_a_function_of_the_seed(features: Any) -> None:
    config = SequenceConfig(hidden=3, features=features)
    one, again, other = (CrossEntityModel(Echo(), config, seed=seed).head[0].weight for seed in (1, 1, 2))  # type: ignore[arg-type]
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
