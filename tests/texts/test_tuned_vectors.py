"""Texts read by an encoder that learns: a few have gradients, the others are remembered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from cear.core.errors import ConfigError
from cear.texts import KeptVectors, TunedVectors, encode, learn_last, load_encoder

LINES = ["Town 1", "Town 2", "Country 3", "lies in"]
START = torch.nn.functional.normalize(torch.arange(4 * 16.0).view(4, 16) + 1, dim=-1)


@pytest.fixture
def encoder(encoder_of: Callable[..., str]) -> str:
    return encoder_of()


@pytest.fixture
def tuned(encoder: str) -> TunedVectors:
    width = load_encoder(encoder)[0].config.hidden_size
    return TunedVectors(LINES, torch.zeros(4, width), encoder, tokens=8)


def test_kept_vectors_are_looked_up() -> None:
    vectors = KeptVectors(START)
    some = torch.tensor([[2, 0]])
    assert torch.equal(vectors(some), START[some])
    assert not vectors.state_dict(), "they come from the cache"


def test_what_is_read_has_gradients_and_everybody_else_is_remembered(tuned: TunedVectors) -> None:
    tuned.remembered[3] = 5.0
    with tuned.reading(torch.tensor([2, 0])):
        vectors = tuned(torch.tensor([0, 3, 2]))
    assert torch.equal(vectors[1], torch.full_like(vectors[1], 5.0))
    torch.testing.assert_close(vectors[[0, 2]].norm(dim=-1), torch.ones(2))
    assert torch.equal(tuned(torch.tensor([0, 2])), vectors[[0, 2]].detach()), "afterwards it is remembered"
    weight = next(iter(tuned.encoder.parameters()))
    read, other = (torch.autograd.grad(vectors[i, 0], weight, retain_graph=True) for i in (0, 2))
    assert read[0].abs().sum() > 0
    assert other[0].abs().sum() > 0
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(tuned(torch.tensor([0]))[0, 0], weight)


def test_all_are_read_as_anybody_would_encode_them(tuned: TunedVectors, encoder: str) -> None:
    tuned.train()
    tuned.refresh_cache()
    model, tokenizer = load_encoder(encoder)
    torch.testing.assert_close(tuned.remembered, encode(LINES, model, tokenizer, tokens=8), atol=1e-5, rtol=1e-4)


def test_it_is_saved_as_hugging_face_reads_it(tuned: TunedVectors, tmp_path: Path) -> None:
    with torch.no_grad():
        for weight in tuned.encoder.parameters():
            weight += 0.05 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1))
    tuned.refresh_cache()
    tuned.save_pretrained(tmp_path)
    model, tokenizer = load_encoder(str(tmp_path))
    torch.testing.assert_close(encode(LINES, model, tokenizer, tokens=8), tuned.remembered, atol=1e-5, rtol=1e-4)
    assert not [*tmp_path.glob("*.bin"), *tmp_path.glob("*.pt")]


def test_only_the_last_layers_learn(encoder: str) -> None:
    model, _ = load_encoder(encoder)
    learn_last(model, 1)
    learning = {name for name, weight in model.named_parameters() if weight.requires_grad}
    last = len(model.encoder.layer) - 1
    assert learning
    assert all(name.startswith(f"encoder.layer.{last}.") for name in learning)
    with pytest.raises(ConfigError, match=r"layers: 99 is more than the \d+ layers"):
        learn_last(model, 99)


def test_an_encoder_with_too_few_positions_is_refused(encoder_of: Callable[..., str]) -> None:
    with pytest.raises(ConfigError, match=r"reads 20 tokens.*Set its tokens to at most 20"):
        TunedVectors(LINES, START, encoder_of("bert", 20), tokens=30)


class TestOnADevice:
    """The meta device has no values: what runs there waits for nothing, and puts nothing in the wrong place."""

    def test_kept_vectors_are_looked_up_by_places_on_the_cpu(self) -> None:
        found = KeptVectors(START.to("meta"))(torch.tensor([[2, 0]]))
        assert (found.shape, found.device.type) == ((1, 2, 16), "meta")

    def test_tuned_vectors_are_read_and_remembered_there(self, encoder: str, look_up: Any) -> None:
        tuned = TunedVectors(LINES, torch.zeros(4, 32), encoder, tokens=8, device="meta")
        tuned.encoder = look_up.to("meta")
        with tuned.reading(torch.tensor([2, 0])):
            assert tuned(torch.tensor([0, 3, 2])).device.type == "meta"
        tuned.refresh_cache()
        assert tuned.remembered.device.type == "meta"
