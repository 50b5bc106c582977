from __future__ import annotations

from types import SimpleNamespace

import pytest
from torch import Tensor, nn


class LookUp(nn.Module):
    """An encoder whose state of a token is a vector of that token; those of transformers look at their masks."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = nn.Embedding(100, 32)

    def forward(self, input_ids: Tensor, **_: Tensor) -> SimpleNamespace:
        return SimpleNamespace(last_hidden_state=self.vectors(input_ids))


@pytest.fixture
def look_up() -> LookUp:
    """An encoder that runs on the meta device, where there is nothing to look at."""
    return LookUp()
