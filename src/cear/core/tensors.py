"""Tensors on disk: safetensors files, written whole or not at all, never pickles, each with a sum of its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from cear.core.errors import CearError
from cear.core.files import replacing
from cear.core.reading import in_words, reading, unreadable

_SAID = "cear"  # the key of what a file says about itself
_SUM = "sha256"  # and, in there, of the sum of all the rest


class Tensors(dict[str, Tensor]):
    """The tensors of a file by name; one that it does not have is a `DataError`."""

    def __init__(self, path: Path, tensors: Mapping[str, Tensor]) -> None:
        super().__init__(tensors)
        self.path = path

    def __missing__(self, name: str) -> Tensor:
        raise unreadable(self.path, f"it has no tensor {name!r}, only {', '.join(sorted(self)) or 'none'}")


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write tensors and a few words about them, atomically."""
    plain = {key: value.detach().contiguous().cpu() for key, value in tensors.items()}
    words = metadata or {}
    # One key: safetensors writes several in any order, and equal files shall have equal bytes.
    said = {_SAID: json.dumps({**words, _SUM: _sum(plain, words)}, sort_keys=True)}
    try:
        with replacing(path) as partial:
            save_file(plain, partial, said)
    except SafetensorError as error:
        raise CearError(f"{path} could not be written: {error}. What it held before is still there.") from error


def read_tensors(path: Path) -> tuple[Tensors, dict[str, str]]:
    """The tensors of a file and what was said about them; one that is cut off, damaged or no such file is told."""
    try:
        with reading(path), safe_open(path, framework="pt") as file:
            tensors = Tensors(path, {key: file.get_tensor(key) for key in file.keys()})  # noqa: SIM118 - not a mapping
            said: dict[str, str] = file.metadata() or {}
            words: dict[str, str] = dict(json.loads(said[_SAID])) if _SAID in said else said
    except SafetensorError as error:
        raise unreadable(path, in_words(error)) from error
    known = words.pop(_SUM, None)  # files of others and of earlier versions have none
    if known is not None and known != _sum(tensors, words):
        raise unreadable(path, "its numbers are not those that were written")
    return tensors, words


def map_tensors(path: Path) -> Tensors:
    """The tensors of a file, mapped into memory: what is not looked at is not read, so no sum is compared.

    For files that have been checked already, as those of a store are, and are larger than what is wanted of them.
    """
    try:
        with reading(path), safe_open(path, framework="pt") as file:
            return Tensors(path, {key: file.get_tensor(key) for key in file.keys()})  # noqa: SIM118 - not a mapping
    except SafetensorError as error:
        raise unreadable(path, in_words(error)) from error


def load_state(model: nn.Module, tensors: Tensors) -> None:
    """Put the weights of a file into a model; those of another model are a `DataError`."""
    with reading(tensors.path):
        model.load_state_dict(tensors)


def _sum(tensors: Mapping[str, Tensor], words: Mapping[str, str]) -> str:
    """A digest of names, types, shapes and numbers, and of what is said about them."""
    hashed = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
    for name, value in sorted(tensors.items()):
        hashed.update(f"\0{name} {value.dtype} {list(value.shape)}\0".encode())
        if value.numel():
            hashed.update(value.reshape(-1).view(torch.uint8).numpy().data)  # numpy has no bfloat16, and all have bytes
    return hashed.hexdigest()
