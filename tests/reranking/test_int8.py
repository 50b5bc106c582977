"""Answering in 8-bit integers: nearly the same scores, made once, and each list's scores its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cear.candidates import Lists
from cear.core.errors import ConfigError
from cear.core.tensors import read_tensors, write_tensors
from cear.data import KnowledgeBase
from cear.reranking import Int8Reranker, SequenceConfig, SequenceReranker, int8

pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def saved(
    towns: KnowledgeBase, encoder_of: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Int8Reranker]:
    """The folder of a re-ranker, and the re-ranker of 8-bit weights that was made from it."""
    folder = tmp_path_factory.mktemp("stage2") / "model"
    SequenceReranker(towns, SequenceConfig(encoder=encoder_of(), hidden=8, text="name")).save_pretrained(folder)
    return folder, Int8Reranker.from_pretrained(folder, towns)


def test_scores_are_nearly_those_of_the_whole_weights(
    saved: tuple[Path, Int8Reranker], towns: KnowledgeBase, lists: Lists
) -> None:
    whole = SequenceReranker.from_pretrained(saved[0], towns).rerank(lists)
    small = saved[1].rerank(lists)
    assert not np.array_equal(whole, small)
    assert np.corrcoef(whole.ravel(), small.ravel())[0, 1] > 0.99


def test_a_score_does_not_depend_on_what_shares_its_batch(saved: tuple[Path, Int8Reranker], lists: Lists) -> None:
    together, alone = saved[1].rerank(lists), [saved[1].rerank(lists[i : i + 1])[0] for i in range(len(lists))]
    np.testing.assert_allclose(together, np.array(alone), atol=1e-5)


class TestTheFile:
    def test_is_written_beside_the_model(self, saved: tuple[Path, Int8Reranker]) -> None:
        files = sorted(path.name for path in saved[0].with_name("int8").iterdir())
        assert files == ["encoder.onnx", "made_from.json"]

    def test_is_made_once_for_the_same_weights(
        self, saved: tuple[Path, Int8Reranker], towns: KnowledgeBase, lists: Lists, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(int8, "export", lambda *_: pytest.fail("it was made again"))
        again = Int8Reranker.from_pretrained(saved[0], towns)
        np.testing.assert_array_equal(again.rerank(lists), saved[1].rerank(lists))

    def test_is_made_again_for_other_weights(
        self, saved: tuple[Path, Int8Reranker], towns: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        weights = saved[0] / "encoder" / "model.safetensors"
        tensors, metadata = read_tensors(weights)
        before = weights.read_bytes()
        write_tensors(weights, {name: value + 1 for name, value in tensors.items()}, metadata)
        made: list[Path] = []
        monkeypatch.setattr(int8, "export", lambda _, path: made.append(path))
        monkeypatch.setattr(int8, "write_json", lambda *_: None)
        Int8Reranker.from_pretrained(saved[0], towns)
        assert made == [saved[0].with_name("int8") / "encoder.onnx"]
        weights.write_bytes(before)


def test_an_encoder_that_onnx_runtime_computes_otherwise_is_refused(
    saved: tuple[Path, Int8Reranker], towns: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(int8, "_SAME", 0.0)
    monkeypatch.setattr(int8, "_OPSETS", (23,))
    encoder = SequenceReranker.from_pretrained(saved[0], towns).model.encoder
    with pytest.raises(ConfigError, match=r"does not compute what BertModel does.*Leave the 8 bits out"):
        int8.export(encoder, tmp_path / "encoder.onnx")
    assert list(tmp_path.iterdir()) == []


def test_packages_that_are_missing_are_named(
    saved: tuple[Path, Int8Reranker], towns: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(int8, "_PACKAGES", ("onnx", "no_such_package"))
    with pytest.raises(ConfigError, match=r"needs no_such_package\. Run: pip install 'cear\[int8\]'"):
        Int8Reranker.from_pretrained(saved[0], towns)
