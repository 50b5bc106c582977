"""Atomic writes: a file is there whole or the old one stays, whatever interrupts us."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import isfinite
from pathlib import Path
from typing import Any

from cear.core.disk import refused_by_disk
from cear.core.errors import DataError, DiskError
from cear.core.reading import reading

_WRITER = re.compile(r"\.(?P<host>[0-9a-f]{8})-(?P<pid>\d+)-(?P<start>\d+)-[0-9a-f]+\.partial$")
_DAY = 24 * 60 * 60  # seconds


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and vanishes otherwise.

    >>> import tempfile; folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "a.txt") as partial:
    ...     _ = partial.write_text("whole")
    >>> (folder / "a.txt").read_text(), len(list(folder.iterdir()))
    ('whole', 1)
    """
    partial = partial_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.touch(0o600, exist_ok=False)  # as private as it will be, until it is whole
        yield partial
        _flush_to_disk(partial)
        os.chmod(partial, 0o666 & ~_umask())
        partial.replace(path)
    except Exception as error:
        if (why := refused_by_disk(error, partial)) is None:
            raise
        raise DiskError(
            f"{path} could not be written: {why}. What it held before is still there. Make room on the disk, or check "
            "who may write there, then run the same command again: it continues."
        ) from error
    finally:
        with suppress(OSError):  # a disk that nothing can be written to has nothing of ours
            partial.unlink(missing_ok=True)


def partial_of(path: Path) -> Path:
    """A new path beside `path` for what is being written, a file or a folder; its name says who writes."""
    pid = os.getpid()
    return path.with_name(f".{path.name}.{_host()}-{pid}-{_started(pid)}-{secrets.token_hex(4)}.partial")


def remove_leftovers(folder: Path) -> None:
    """Delete what writers that were killed left in a folder; what others are writing stays.

    Where it cannot be told whether the writer is still there, a day without a change decides.
    """
    for partial in folder.glob(".*.partial"):
        with suppress(FileNotFoundError):  # its writer has just finished
            if _is_left(partial):
                shutil.rmtree(partial) if partial.is_dir() else partial.unlink()


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically; NaN is refused because it is not JSON."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def read_json(path: Path) -> Any:
    """The value stored in a JSON file; one that is not there, cut off or damaged is a `DataError`."""
    with reading(path):
        return parse_json(path.read_text(encoding="utf-8"))


def parse_json(text: str) -> Any:
    """The value that a text of JSON says; numbers that are not finite and halves of characters are a `ValueError`.

    So is nesting without end.
    """
    try:
        value = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()  # an escape may be half a character, which is no text
    return value


def _finite(text: str) -> float:
    """The number that a text says; NaN and what is out of all range is no JSON that we write."""
    if not isfinite(number := float(text)):
        raise ValueError(f"{text} is no finite number")
    return number


def _is_left(partial: Path) -> bool:
    writer = _WRITER.search(partial.name)
    if writer and writer["host"] == _host() and os.name == "posix":  # Windows has no signal that only asks
        return not _is_running(int(writer["pid"])) or _started(int(writer["pid"])) != writer["start"]
    return time.time() - partial.stat().st_mtime > _DAY


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _started(pid: int) -> str:
    """When a process started, in ticks of the system: numbers of processes are used again. 0 if it does not say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]  # proc(5), field 22
    except (OSError, IndexError):
        return "0"


def _host() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _flush_to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}. Give a file that is there.") from None
