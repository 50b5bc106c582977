"""Tensors on disk: safetensors files, written whole or not at all, never pickles."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from cear.core.errors import CearError, DataError
from cear.core.files import replacing

_SAID = "cear"  # the key of what a file says about itself


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write tensors and a few words about them, atomically."""
    try:
        with replacing(path) as partial:
            # One key: safetensors writes several in any order, and equal files shall have equal bytes.
            said = {_SAID: json.dumps(metadata, sort_keys=True)} if metadata else None
            save_file({key: value.contiguous() for key, value in tensors.items()}, partial, said)
    except (OSError, SafetensorError) as error:  # safetensors has its own name for a full disk
        raise CearError(
            f"{path} could not be written: {error}. What it held before is still there. "
            "Make room on the disk, or check who may write there, then run the same command again: it continues."
        ) from error


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a file and what was said about them; one that is cut off or damaged is named."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - not a mapping
            said = file.metadata() or {}
            return tensors, json.loads(said[_SAID]) if _SAID in said else said
    except (FileNotFoundError, SafetensorError) as error:
        raise DataError(
            f"{path} cannot be read: {error}. It is missing, cut off or damaged; we write it whole or not at all. "
            f"Copy it again, or delete the folder {path.parent} and run the same command: it starts afresh."
        ) from error
