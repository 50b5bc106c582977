"""Text vectors: one of unit length for each text alone, encoded once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from cear.data import KnowledgeBase, Vocabulary
from cear.texts import encode, load_encoder, pooled, text_vectors, texts, vectors


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Text vectors go to a cache of these tests alone."""
    monkeypatch.setenv("CEAR_CACHE", str(tmp_path))


def test_a_text_is_the_name_and_the_description_if_there_is_one() -> None:
    described = Vocabulary.from_ids("entity", ["x", "y"], names=["Town 7", "Köln ☃"], descriptions=["in b", None])  # type: ignore[list-item]
    assert texts(described) == ["Town 7, in b", "Köln ☃"]


def test_they_are_unit_vectors_of_each_text_and_made_once(
    towns: KnowledgeBase, encoder_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entities, relations = text_vectors(towns, encoder_of(), tokens=8)
    assert (len(entities), len(relations)) == (30, 3)
    torch.testing.assert_close(entities.norm(dim=-1), torch.ones(30))
    monkeypatch.setattr("cear.texts.vectors.encode", lambda *_, **__: pytest.fail("encoded again"))
    assert torch.equal(text_vectors(towns, encoder_of(), tokens=8)[0], entities)


def test_only_the_part_that_is_missing_is_encoded_again(
    towns: KnowledgeBase, encoder_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(vectors, "_PART", 10)
    whole = text_vectors(towns, encoder_of(), tokens=8)[0]
    parts = sorted(tmp_path.rglob("*.safetensors"))
    assert len(parts) == 4, "33 texts"
    parts[2].unlink()
    encoded: list[int] = []

    def counting(lines: list[str], *args: Any, **settings: Any) -> torch.Tensor:
        encoded.append(len(lines))
        return encode(lines, *args, **settings)

    monkeypatch.setattr(vectors, "encode", counting)
    assert torch.equal(text_vectors(towns, encoder_of(), tokens=8)[0], whole)
    assert len(encoded) == 1


def test_padding_does_not_change_a_vector(encoder_of: Callable[..., str]) -> None:
    model, tokenizer = load_encoder(encoder_of())
    both = encode(["town 1", "town 1 lies in country a"], model, tokenizer, tokens=20)
    alone = encode(["town 1"], model, tokenizer, tokens=20)
    torch.testing.assert_close(alone[0], both[0], atol=1e-5, rtol=1e-4)


def test_other_texts_and_other_cuts_are_encoded_anew(towns: KnowledgeBase, encoder_of: Callable[..., str]) -> None:
    names = [f"Country {'abcde'[i % 5]}" for i in range(30)]
    renamed = Vocabulary.from_ids("entity", [f"e{i}" for i in range(30)], names=names)
    other = KnowledgeBase("towns", renamed, towns.relations, {"train": towns.facts("train")})
    mine = text_vectors(towns, encoder_of(), tokens=8)[0]
    assert not torch.equal(text_vectors(other, encoder_of(), tokens=8)[0], mine)
    assert not torch.equal(text_vectors(towns, encoder_of(), tokens=1)[0], mine)


def test_a_training_encoder_gets_gradients(encoder_of: Callable[..., str]) -> None:
    model, tokenizer = load_encoder(encoder_of())
    rows = tokenizer(["town 1", "road to town 2"])["input_ids"]
    pooled(rows, model, tokenizer)[:, 0].sum().backward()
    assert model.get_input_embeddings().weight.grad.abs().sum() > 0


def test_the_encoder_is_loaded_at_most_once_and_only_when_there_is_something_to_read(
    towns: KnowledgeBase, encoder_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []

    def counting(encoder: str, **settings: Any) -> Any:
        loads.append(encoder)
        return load_encoder(encoder, **settings)

    monkeypatch.setattr(vectors, "load_encoder", counting)
    monkeypatch.setattr(vectors, "_PART", 10)
    text_vectors(towns, encoder_of(), tokens=8)
    assert len(loads) == 1, "for all four parts"
    text_vectors(towns, encoder_of(), tokens=8)
    assert len(loads) == 1, "everything was in the cache"


def test_the_encoder_reads_where_it_is_told_and_what_is_kept_is_on_the_cpu(
    towns: KnowledgeBase, encoder_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def elsewhere(lines: list[str], *_: Any, device: str, **__: Any) -> torch.Tensor:
        seen.append(device)
        return torch.ones(len(lines), 3, dtype=torch.float64)

    monkeypatch.setattr(vectors, "encode", elsewhere)
    kept = torch.cat(text_vectors(towns, encoder_of(), tokens=8, device="cuda:7"))
    assert (set(seen), kept.dtype, kept.device.type) == ({"cuda:7"}, torch.float32, "cpu")


def test_no_step_needs_to_look_at_values_on_the_device(encoder_of: Callable[..., str], look_up: Any) -> None:
    _, tokenizer = load_encoder(encoder_of())
    found = encode(["town 1", "town 1 lies in country a"], look_up, tokenizer, tokens=20, device="meta")
    assert (found.shape, found.device.type) == ((2, 32), "meta")
