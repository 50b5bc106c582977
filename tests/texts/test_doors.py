"""Models of strangers: no code of theirs runs, no pickle is read, no network is reached unless that is asked for."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import pytest
from safetensors import safe_open

from cear.core.errors import CearError, ConfigError
from cear.data import KnowledgeBase, Vocabulary
from cear.texts import load_cross_encoder, load_encoder, text_vectors
from cear.texts.folders import pretrained_folder

TRAP = """
from pathlib import Path
Path({mark!r}).touch()
from transformers import BertConfig, BertModel, BertTokenizer
class Config(BertConfig): pass
class Model(BertModel): pass
class Tokenizer(BertTokenizer): pass
"""


@pytest.fixture
def folder(encoder_of: Callable[..., str], tmp_path: Path) -> Path:
    """A copy of an encoder, as a stranger may hand it over."""
    return shutil.copytree(encoder_of(), tmp_path / "encoder")


def change(path: Path, **settings: Any) -> None:
    """Put settings into a JSON file."""
    there = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(there | settings))


def both_refuse(folder: Path, why: str) -> None:
    """Check that neither loader takes a folder, for this reason."""
    for load in (load_encoder, load_cross_encoder):
        with pytest.raises(CearError, match=why):
            load(str(folder))


class TestCode:
    @pytest.mark.parametrize(
        ("file", "auto_map"),
        [
            ("config.json", {"AutoConfig": "trap.Config", "AutoModel": "trap.Model"}),
            ("tokenizer_config.json", {"AutoTokenizer": ["trap.Tokenizer", None]}),
        ],
    )
    def test_that_a_folder_brings_is_never_run(self, folder: Path, file: str, auto_map: Any) -> None:
        mark = folder.parent / "mark"
        (folder / "trap.py").write_text(TRAP.format(mark=str(mark)))
        change(folder / file, auto_map=auto_map)
        both_refuse(folder, rf"{file} names code to run \(`auto_map`.*never run. Give a model that transformers knows")
        with pytest.raises(ConfigError, match="names code to run"):
            load_encoder(str(folder), init="random")
        assert not mark.exists()

    def test_that_it_names_on_the_hub_is_not_looked_for(self, folder: Path) -> None:
        change(folder / "config.json", attn_implementation="a-stranger/kernel")
        both_refuse(folder, r"names code to run \(`attn_implementation`: 'a-stranger/kernel'")

    def test_that_it_names_in_a_group_or_for_another_version_is_found(self, folder: Path) -> None:
        change(folder / "config.99.json", inner=[{"auto_map": {"AutoModel": "somebody/else--trap.Model"}}])
        both_refuse(folder, r"config\.99\.json names code")

    def test_a_map_that_names_none_is_no_harm(self, folder: Path) -> None:
        change(folder / "config.json", auto_map={}, attn_implementation="eager")
        assert load_encoder(str(folder))[0].config.hidden_size == 32

    def test_an_adapter_leads_to_another_model(self, folder: Path) -> None:
        change(folder / "adapter_config.json", base_model_name_or_path="/somewhere/else")
        both_refuse(folder, "holds an adapter of another model")

    def test_settings_that_cannot_be_read_are_named(self, folder: Path) -> None:
        (folder / "config.json").write_text('{"a": ' * 100_000)
        both_refuse(folder, r"config\.json cannot be read: .*Copy it again")


class Mark:
    """What leaves a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._path),)


class TestWeights:
    def test_that_are_pickled_are_refused(self, folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Mark(folder / "mark")))
        both_refuse(folder, r"are pickled \(pytorch_model\.bin\), and reading a pickle can run code")
        assert not (folder / "mark").exists()

    def test_that_are_not_asked_for_do_not_matter(self, folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
        assert load_encoder(str(folder), init="random")[0].config.hidden_size == 32

    def test_that_settings_name_are_not_pickled_either(self, folder: Path) -> None:
        change(folder / "config.json", transformers_weights="adapter_model.bin")
        both_refuse(folder, r"are pickled \(adapter_model\.bin\)")

    @pytest.mark.parametrize("shard", ["../../other.safetensors", "/other.safetensors", "shard.bin"])
    def test_in_parts_are_beside_their_index_and_not_pickled(self, folder: Path, shard: str) -> None:
        (folder / "model.safetensors").rename(folder / "part.safetensors")
        change(folder / "model.safetensors.index.json", metadata={}, weight_map={"a": "part.safetensors", "b": shard})
        both_refuse(folder, r"expected the name of a file beside it|are pickled \(shard\.bin\)")

    def test_that_are_damaged_are_told(self, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"\xff" * 64)
        with pytest.raises(ConfigError, match=r"No encoder .* could be loaded"):
            load_encoder(str(folder))


WATCHED = """
import os, sys

def watch(event, arguments):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.connect", "socket.sendto"):
        sys.stderr.write(f"reached for the network: {{event}} {{arguments}}")
        os._exit(9)  # no library may pass over it

sys.addaudithook(watch)
from cear.cli import main
from cear.core.errors import ConfigError
from cear.texts import load_cross_encoder, load_encoder

for load in (load_encoder, load_cross_encoder):
    try:
        load("nobody/has-this-model")
    except ConfigError:
        continue
    os._exit(8)
load_encoder({folder!r})
main()
"""


class TestNetwork:
    def test_is_not_reached_unless_that_is_asked_for(
        self, folder: Path, tmp_path: Path, write_towns: Callable[..., Path]
    ) -> None:
        config = tmp_path / "mine.yaml"
        data = write_towns(tmp_path / "towns")
        config.write_text(f"data: {data}\nreranker: {{kind: sequence, encoder: nobody/has-this-model}}\n")
        usual = {name: value for name, value in os.environ.items() if not name.endswith("_OFFLINE")}
        done = subprocess.run(
            [sys.executable, "-c", WATCHED.format(folder=str(folder)), "run", config],
            env=usual | {"HF_HOME": str(tmp_path / "hub"), "CEAR_CACHE": str(tmp_path / "cache")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        said = " ".join(done.stderr.split())
        assert done.returncode == 2, said
        assert "No encoder 'nobody/has-this-model' could be loaded: there is no such folder" in said
        assert "together with --download" in said

    def test_what_the_hub_gave_before_is_found(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        kept = folder.parent / "models--somebody--tiny"
        folder.rename(kept.parent / "0123abc")
        (kept / "refs").mkdir(parents=True)
        (kept / "refs" / "main").write_text("0123abc")
        shutil.move(kept.parent / "0123abc", kept / "snapshots" / "0123abc")
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(kept.parent))
        monkeypatch.setattr("socket.getaddrinfo", lambda *_: pytest.fail("it asked the network"))
        assert load_encoder("somebody/tiny")[0].config.hidden_size == 32

    def test_is_asked_for_settings_weights_and_vocabularies_alone(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[Any] = []

        def give(name: str, *, allow_patterns: list[str], ignore_patterns: list[str]) -> str:
            asked.append((name, huggingface_hub.is_offline_mode(), {*allow_patterns}, ignore_patterns))
            return str(folder)

        monkeypatch.setattr(huggingface_hub, "snapshot_download", give)
        load_encoder("somebody/tiny", download=True)
        load_encoder(str(folder), download=True)  # which is here
        assert asked == [("somebody/tiny", False, {"*.json", "*.safetensors", "*.txt", "*.model"}, ["*/*"])]
        change(folder / "config.json", auto_map={"AutoModel": "trap.Model"})
        with pytest.raises(ConfigError, match="names code to run"):
            load_encoder("somebody/tiny", download=True)

    def test_that_fails_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class NoRoute(Exception):
            pass

        def fail(*_: Any, **__: Any) -> str:
            raise NoRoute("no route to host")

        monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
        with pytest.raises(ConfigError, match=r"the hub did not give it \(no route to host\)"):
            load_encoder("somebody/tiny", download=True)

    def test_is_there_again_for_others_afterwards(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        with pretrained_folder(str(folder), "encoder"):
            assert huggingface_hub.is_offline_mode()
        assert not huggingface_hub.is_offline_mode()


@pytest.mark.parametrize("name", ["../../x", "/abs", "..", "a/../b", "a/b/c", "", "a\0b", "x" * 5000])
def test_a_name_that_is_neither_a_folder_nor_on_the_hub_is_told(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(ConfigError, match=r"No encoder .*could be loaded|cannot be read") as told:
        load_encoder(name)
    assert str(told.value).isprintable()


class TestKeptVectors:
    """What is kept under the name of an encoder and the texts of a knowledge base."""

    @staticmethod
    def vectors(encoder: str, *names: str) -> Any:
        """The vectors of entities of these names, beside a relation."""
        entities = Vocabulary.from_ids("entity", [f"e{i}" for i in range(len(names))], names=[*names])
        kb = KnowledgeBase("mine", entities, Vocabulary.from_ids("relation", ["in"]), {"train": np.array([[0, 0, 0]])})
        return text_vectors(kb, encoder, tokens=8)[0]

    @pytest.fixture(autouse=True)
    def own_cache(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("CEAR_CACHE", str(tmp_path / "cache"))

    def test_one_name_does_not_pass_for_two(self, encoder_of: Callable[..., str]) -> None:
        assert len(self.vectors(encoder_of(), "town\0country")) == 1
        assert len(self.vectors(encoder_of(), "town", "country")) == 2

    def test_other_weights_in_several_files_are_others(self, folder: Path, encoder_of: Callable[..., str]) -> None:
        index = folder / "model.safetensors.index.json"
        (folder / "model.safetensors").rename(folder / "part.safetensors")
        names = safe_open(folder / "part.safetensors", "np").keys()
        index.write_text(json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, "part.safetensors")}))
        before = self.vectors(str(folder), "town")
        shutil.copy(Path(encoder_of("bert", 64, "float16")) / "model.safetensors", folder / "part.safetensors")
        assert not np.array_equal(before, self.vectors(str(folder), "town"))
