"""Cross-encoders: how their tokenizers write a pair, and which folders are refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cear.core.errors import ConfigError
from cear.texts import PairForm, load_cross_encoder


@pytest.mark.parametrize(
    ("family", "between", "segments"),
    [("bert", ["[SEP]"], (0, 1)), ("roberta", ["</s>", "</s>"], (0, 0)), ("modernbert", ["[SEP]"], (0, 0))],
)
def test_a_pair_is_written_as_the_tokenizer_writes_it(
    cross_encoder_of: Callable[..., str], family: str, between: list[str], segments: tuple[int, int]
) -> None:
    _, tokenizer = load_cross_encoder(cross_encoder_of(family))
    form = PairForm.of(tokenizer)
    assert tokenizer.convert_ids_to_tokens(form.between) == between
    assert tokenizer.convert_ids_to_tokens(form.before) == [tokenizer.cls_token]
    assert tokenizer.convert_ids_to_tokens(form.behind) == [tokenizer.sep_token]
    assert form.segments == segments
    assert form.tokens == 2 + len(between)


def test_an_encoder_without_a_head_is_none(encoder_of: Callable[..., str]) -> None:
    with pytest.raises(ConfigError, match=r"is no cross-encoder: its config.json names BertModel"):
        load_cross_encoder(encoder_of())


def test_one_of_several_labels_is_none(cross_encoder_of: Callable[..., str]) -> None:
    with pytest.raises(ConfigError, match=r"it has 3 labels. Give a model with one"):
        load_cross_encoder(cross_encoder_of(labels=3))


def test_one_that_is_not_there_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"could be loaded: .* Give a folder with config.json"):
        load_cross_encoder(str(tmp_path / "nothing"))


def test_weights_that_are_pickled_are_not_read(cross_encoder_of: Callable[..., str], tmp_path: Path) -> None:
    for path in Path(cross_encoder_of()).iterdir():
        name = "pytorch_model.bin" if path.suffix == ".safetensors" else path.name
        (tmp_path / name).write_bytes(path.read_bytes())
    with pytest.raises(ConfigError, match=r"are pickled \(pytorch_model\.bin\)"):
        load_cross_encoder(str(tmp_path))
