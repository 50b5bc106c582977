"""Seals: what files held when they were written. Damage is told by them, and nothing damaged is used.

A folder is sealed by seal.json, which has the size and the SHA-256 of every other file; a dictionary in a JSON file by
its own SHA-256, under the key "seal". What earlier versions wrote has no seal and is read as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

from cear.core.errors import CearError, DataError
from cear.core.files import file_digest, read_json, write_json
from cear.core.keys import content_key
from cear.core.reading import unreadable

log = logging.getLogger("cear.core")

T = TypeVar("T")

SEAL = "seal.json"
_KEY = "seal"


def seal(folder: Path) -> None:
    """Write down what the files of a folder hold now; what is put there later is not under the seal."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / SEAL)
    files = {path.relative_to(folder).as_posix(): [path.stat().st_size, file_digest(path)] for path in paths}
    write_sealed(folder / SEAL, {"files": files})


def flaw_of(folder: Path, names: Collection[str] | None = None) -> str | None:
    """What is no longer as it was sealed, of the whole folder or of these files; None if all is, or without a seal."""
    if not (folder / SEAL).exists():
        return None
    try:
        files = read_sealed(folder / SEAL, always=True)["files"]
    except CearError:
        return f"{SEAL} itself is not what was written"
    found = (_flaw(folder / name, *known) for name, known in files.items() if names is None or name in names)
    return next(filter(None, found), None)


def _flaw(path: Path, size: int, digest: str) -> str | None:
    if not path.is_file():
        return f"{path.name} is not there"
    try:
        here = path.stat().st_size
        same = here == size and file_digest(path) == digest
    except (OSError, CearError):
        return f"{path.name} cannot be read"
    return None if same else f"{path.name} is not what was written ({here:,} bytes, then {size:,})"


def write_sealed(path: Path, values: dict[str, Any]) -> None:
    """Write a dictionary as JSON, sealed, atomically."""
    write_json(path, {**values, _KEY: content_key(values)})


def read_sealed(path: Path, *, always: bool = False) -> dict[str, Any]:
    """The dictionary in a JSON file; one that is not what was sealed is a `DataError`.

    `always` says that no version has written it without a seal.
    """
    values = read_json(path)
    if not isinstance(values, dict):
        raise unreadable(path, f"it holds {type(values).__name__}, expected a dictionary")
    said = values.pop(_KEY, None)
    if (said is not None or always) and said != content_key(values):
        raise unreadable(path, "it is not what was written")
    return values


def if_whole(path: Path, read: Callable[[Path], T]) -> T | None:
    """What `read` finds in a file that can be made again: None where it is not there, or, which is told, damaged."""
    if not path.exists():
        return None
    try:
        return read(path)
    except DataError as error:
        log.warning("%s is damaged and made again.", path)
        log.debug("%s", error)
        return None
