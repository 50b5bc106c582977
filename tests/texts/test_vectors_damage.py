"""Text vectors that are damaged in the cache: told, and read from the texts again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from cear.data import KnowledgeBase, cache_root
from cear.texts import text_vectors


def flip_last(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)


@pytest.mark.usefixtures("own_cache")
def test_a_damaged_file_is_made_again(
    towns: KnowledgeBase, encoder_of: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    entities, relations = (each.clone() for each in text_vectors(towns, encoder_of(), tokens=8))
    [path] = (cache_root() / "text_vectors").iterdir()
    whole = path.read_bytes()
    flip_last(path)
    again = text_vectors(towns, encoder_of(), tokens=8)
    assert torch.equal(again[0], entities)
    assert torch.equal(again[1], relations)
    assert f"{path} is damaged and made again" in caplog.text
    assert path.read_bytes() == whole
