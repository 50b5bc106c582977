"""Atomic writes: a file is there whole or the old one stays, whatever interrupts us."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and vanishes otherwise.

    >>> import tempfile; folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "a.txt") as partial:
    ...     _ = partial.write_text("whole")
    >>> (folder / "a.txt").read_text(), len(list(folder.iterdir()))
    ('whole', 1)
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        _flush_to_disk(partial)
        os.chmod(partial, 0o666 & ~_umask())  # mkstemp makes private files; ours are ordinary ones
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Delete what writes that were killed left in a folder. Only for a folder that nobody writes to now."""
    for partial in folder.glob(".*.partial"):
        shutil.rmtree(partial) if partial.is_dir() else partial.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically; NaN is refused because it is not JSON."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def read_json(path: Path) -> Any:
    """The value stored in a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def _flush_to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
