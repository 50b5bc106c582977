"""Folders of pretrained models: found without the network unless it is asked for, and checked before they are loaded.

Nothing of a model may run code: not Python files that it brings, not kernels that it names, not pickled weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Literal

from safetensors import SafetensorError

from cear.core.errors import CearError, ConfigError
from cear.core.files import read_json
from cear.core.names import beside

What = Literal["encoder", "cross-encoder"]

FROM_FOLDER: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
"""What every `from_pretrained` is told."""

_FETCHED = ["*.json", "*.safetensors", "*.txt", "*.model"]  # settings, weights, vocabularies; no code and no pickle
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")
_CODE = ("auto_map", "attn_implementation", "experts_implementation")  # settings that may name some
_FAILURES = (OSError, ValueError, TypeError, LookupError, AttributeError, ImportError, RuntimeError, SafetensorError)
_LOADING = RLock()  # whether Hugging Face is offline is one switch for all threads


@contextmanager
def pretrained_folder(name: str, what: What, *, weights: bool = True, download: bool = False) -> Iterator[Path]:
    """The folder of a model to load inside the block: one that is named, or what the hub has under that name.

    Inside, nothing of Hugging Face reaches the network, and what fails is a `ConfigError`. The hub is asked only if
    `download`. A folder that brings or names code is refused, and so are pickled `weights`, if they are wanted.
    """
    with _LOADING, _told(name, what):
        fetched = _fetch(name) if download and not _is_folder(name) else None
        with _offline():
            folder = fetched or _found(name)
            refuse_code(folder)
            if weights:
                refuse_pickles(folder)
            yield folder


def refuse_code(folder: Path) -> None:
    """Raise `ConfigError` for a model whose settings name code: its own, a kernel on the hub, or another model's."""
    for path in sorted(folder.glob("*config*.json")):
        for key, value in _settings(read_json(path)):
            if key.lstrip("_") in _CODE and _names_code(key, value):
                raise ConfigError(
                    f"{path} names code to run (`{key}`: {str(value)[:80]!r}), and what a model brings or names is "
                    f"never run. Give a model that transformers knows by itself; if this is one, take `{key}` out of "
                    "your copy."
                )
    if (folder / "adapter_config.json").exists():
        raise ConfigError(f"{folder} holds an adapter of another model, not a whole one. Merge the two and give that.")


def refuse_pickles(folder: Path) -> None:
    """Raise `ConfigError` for a model whose weights are pickled, or not all in safetensors files of its folder."""
    pickled = sorted(path.name for pattern in _PICKLED for path in folder.glob(pattern))
    if pickled and not any(folder.glob("*.safetensors")):
        raise ConfigError(_pickled(folder, ", ".join(pickled)))
    named = [each for path in folder.glob("*config*.json") for each in _weights_in(read_json(path))]
    for path in folder.glob("*.safetensors.index.json"):
        named += [beside(path, each).name for each in _shards_in(read_json(path))]
    for name in named:
        if not str(name).endswith((".safetensors", ".safetensors.index.json")):
            raise ConfigError(_pickled(folder, str(name)[:80]))


def _weights_in(settings: Any) -> list[Any]:
    """The files of weights that settings name."""
    return [value for key, value in _settings(settings) if key == "transformers_weights" and value is not None]


def _shards_in(index: Any) -> set[Any]:
    """The files of weights that an index names."""
    shards = index.get("weight_map") if isinstance(index, dict) else None
    return set(shards.values()) if isinstance(shards, dict) else set()


def _pickled(folder: Path, names: str) -> str:
    return (
        f"The weights in {folder} are pickled ({names}), and reading a pickle can run code. Give a folder with "
        "model.safetensors; `save_pretrained` of transformers writes one."
    )


def _names_code(key: str, value: Any) -> bool:
    """Whether a setting names code: any `auto_map`, and an implementation that is a name on the hub."""
    return bool(value) and (key == "auto_map" or "/" in str(value))


def _settings(values: Any) -> Iterator[tuple[str, Any]]:
    """Every key of a value of JSON, however deep, with its value."""
    waiting = [values]
    while waiting:
        match waiting.pop():
            case dict(group):
                yield from group.items()
                waiting.extend(group.values())
            case list(several):
                waiting.extend(several)


def _is_folder(name: str) -> bool:
    return bool(name) and Path(name).is_dir()  # no name at all would be the folder that we are in


def _found(name: str) -> Path:
    """The folder of a model on this machine: itself, or where the hub's cache keeps the model of that name."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    if _is_folder(name):
        return Path(name)
    try:
        settings = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        raise ValueError("there is no such folder, and nothing on the hub can be called so") from None
    if not isinstance(settings, str):
        raise FileNotFoundError("there is no such folder, and the hub's cache on this machine has no such model")
    return Path(settings).parent


def _fetch(name: str) -> Path:
    """The folder of a model on the hub, fetched where this machine does not have it; asks the network."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=_FETCHED, ignore_patterns=["*/*"]))
    except Exception as error:  # a network fails in many ways, and each of its libraries has errors of its own
        raise OSError(f"the hub did not give it ({error})") from error


@contextmanager
def _offline() -> Iterator[None]:
    """Inside, Hugging Face refuses every request: asked for local files alone, it still looks its host up."""
    from huggingface_hub import constants

    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _told(name: str, what: What) -> Iterator[None]:
    """Inside, whatever a stranger's folder makes transformers fail with is a `ConfigError`."""
    try:
        yield
    except CearError:
        raise
    except _FAILURES as error:
        usual = "`embedded`, a folder" if what == "encoder" else "a folder"
        raise ConfigError(
            f"No {what} {name!r} could be loaded: {str(error).rstrip('.')}. Give {usual} with config.json, "
            "model.safetensors and tokenizer files, or a name on the Hugging Face hub together with --download."
        ) from error
