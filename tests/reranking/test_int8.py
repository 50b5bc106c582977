"""Answering in 8-bit integers: nearly the same scores, made once, and each list's scores its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cear.candidates import Lists
from cear.core.context import HERE
from cear.core.errors import ConfigError
from cear.core.tensors import read_tensors, write_tensors
from cear.data import KnowledgeBase, cache_root
from cear.reranking import Reranker, SequenceConfig, SequenceReranker, Upstream, load_reranker
from cear.reranking.sequence import int8

pytest.importorskip("onnxruntime")

Saved = tuple[Path, Reranker]


@pytest.fixture(scope="module")
def saved(
    own_cache: None, towns: KnowledgeBase, encoder_of: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Saved:
    """The folder of a re-ranker, and the re-ranker of 8-bit weights that was made from it."""
    del own_cache  # which is where the 8-bit encoder goes
    folder = tmp_path_factory.mktemp("stage2") / "model"
    config = SequenceConfig(encoder=encoder_of(), hidden=8, text="name")
    config.build(Upstream(towns), HERE).save_pretrained(folder)
    return folder, config.load_int8(Upstream(towns), folder, HERE)


def made(towns: KnowledgeBase, folder: Path) -> Reranker:
    """The re-ranker of 8-bit weights of a folder."""
    return SequenceConfig(hidden=8, text="name").load_int8(Upstream(towns), folder, HERE)


def test_scores_are_nearly_those_of_the_whole_weights(saved: Saved, towns: KnowledgeBase, lists: Lists) -> None:
    whole = load_reranker(saved[0], Upstream(towns)).rerank(lists)
    small = saved[1].rerank(lists)
    assert not np.array_equal(whole, small)
    assert np.corrcoef(whole.ravel(), small.ravel())[0, 1] > 0.99


def test_a_score_does_not_depend_on_what_shares_its_batch(saved: Saved, lists: Lists) -> None:
    together, alone = saved[1].rerank(lists), [saved[1].rerank(lists[i : i + 1])[0] for i in range(len(lists))]
    np.testing.assert_allclose(together, np.array(alone), atol=1e-5)


class TestTheFile:
    def test_is_in_the_users_cache_and_the_model_is_as_it_was(self, saved: Saved) -> None:
        assert len([*(cache_root() / "int8").glob("*.onnx")]) == 1
        assert sorted(path.name for path in saved[0].iterdir()) == ["encoder", "head.safetensors", "reranker.json"]

    def test_is_made_once_for_the_same_weights(
        self, saved: Saved, towns: KnowledgeBase, lists: Lists, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(int8, "export", lambda *_: pytest.fail("it was made again"))
        moved = shutil.copytree(saved[0], tmp_path / "moved")
        np.testing.assert_array_equal(made(towns, moved).rerank(lists), saved[1].rerank(lists))

    def test_is_another_for_other_weights(
        self, saved: Saved, towns: KnowledgeBase, tmp_path: Path, lists: Lists
    ) -> None:
        other = shutil.copytree(saved[0], tmp_path / "other")
        tensors, metadata = read_tensors(other / "encoder" / "model.safetensors")
        write_tensors(other / "encoder" / "model.safetensors", {n: 2 * v for n, v in tensors.items()}, metadata)
        assert not np.allclose(made(towns, other).rerank(lists), saved[1].rerank(lists))
        assert len([*(cache_root() / "int8").glob("*.onnx")]) == 2


def test_an_encoder_that_onnx_runtime_computes_otherwise_is_refused(
    saved: Saved, towns: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(int8, "_SAME", 0.0)
    monkeypatch.setattr(int8, "_OPSETS", (23,))
    reranker = load_reranker(saved[0], Upstream(towns))
    assert isinstance(reranker, SequenceReranker)
    with pytest.raises(ConfigError, match=r"does not compute what BertModel does.*Leave the 8 bits out"):
        int8.export(reranker.model.encoder, tmp_path / "encoder.onnx")
    assert list(tmp_path.iterdir()) == []


def test_packages_that_are_missing_are_named(
    saved: Saved, towns: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(int8, "_PACKAGES", ("onnx", "no_such_package"))
    with pytest.raises(ConfigError, match=r"needs no_such_package\. Run: pip install 'cear\[int8\]'"):
        made(towns, saved[0])
