"""One file for a finished run: a plain zip of stored files, and the size and SHA-256 of each.

mine.cear
packed.json    what follows, each with its size and digest
config.yaml, run.json
data/          the knowledge base, as Parquet
vectors/       what the encoder has read, where a stage reads texts
steps/         what the run is loaded from

Nothing in it is compressed, so that it cannot grow when it is unpacked; weights and Parquet would not shrink anyway.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from cear import __version__
from cear.core.errors import DataError, MismatchError
from cear.core.files import file_digest, replacing

SCHEMA = 1
LIST, CONFIG, RUN = "packed.json", "config.yaml", "run.json"
DATA, VECTORS, STEPS = "data", "vectors", "steps"

_MOST_FILES = 100_000
_LONGEST_LIST = 64 * 2**20  # bytes
_CHUNK = 2**20
_THEN = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip knows: the same run is packed to the same bytes
_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}"
_NAME = re.compile(rf"{CONFIG}|{RUN}|(?:{DATA}|{VECTORS}|{STEPS})(?:/{_PART}){{1,8}}", re.ASCII)
_BROKEN = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, UnicodeError, ValueError)


@dataclass(frozen=True)
class Sum:
    """What a file must be."""

    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Sum:
        """That of a file that is there."""
        return cls(path.stat().st_size, file_digest(path))


Sums = Mapping[str, Sum]
"""The files of a packed run by their names in it, without the list itself."""


def write_bundle(file: Path, files: Mapping[str, Path]) -> None:
    """Write files, by the names that they have inside, as one; it is there whole or not at all."""
    sums = {name: Sum.of(path) for name, path in sorted(files.items())}
    _refuse_names(file, sums)
    with replacing(file) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry(LIST), _as_text(sums))
        for name in sums:
            with files[name].open("rb") as source, archive.open(_entry(name), "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target, _CHUNK)


def read_list(file: Path) -> tuple[str, Sums]:
    """The digest of what a packed run holds, and its files; a file that is no packed run is told."""
    with _opened(file) as archive:
        return _listed(file, archive)


def unpack(file: Path, folder: Path) -> None:
    """Write the files of a packed run into a folder that is there; each must be what the list says."""
    with _opened(file) as archive:
        _, sums = _listed(file, archive)
        _refuse_full(file, folder, sum(each.bytes for each in sums.values()))
        for name, known in sums.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, target.open("xb") as copy:
                if _copied(file, name, source, copy, known.bytes) != known.sha256:
                    raise _damaged(file, name)
        (folder / LIST).write_bytes(archive.read(LIST))


def first_damaged(folder: Path) -> str | None:
    """The first file of an unpacked run that is missing or not what its list says, or None."""
    try:
        sums = _sums_of((folder / LIST).read_bytes())
        return next((name for name, known in sums.items() if Sum.of(folder / name) != known), None)
    except FileNotFoundError as error:
        return Path(error.filename).name
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return LIST


@contextmanager
def _opened(file: Path) -> Iterator[zipfile.ZipFile]:
    """The archive; whatever is wrong with it is one kind of error, with the file's name."""
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except (*_BROKEN, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a place before the file's start, says a seek
            raise
        raise DataError(
            f"{file} is no packed run, or is damaged ({error}). Copy it anew, or pack the run anew: "
            "`cear pack RUN FILE`."
        ) from None


def _listed(file: Path, archive: zipfile.ZipFile) -> tuple[str, Sums]:
    """The list of an archive that holds just what it says, nothing packed, nothing overlapping, nothing elsewhere."""
    entries = {entry.filename: entry for entry in archive.infolist()}
    if LIST not in entries or entries[LIST].file_size > _LONGEST_LIST or len(archive.infolist()) > _MOST_FILES:
        raise DataError(f"{file} is no packed run: it has no {LIST}, or one out of all bounds. Give a run.")
    text = archive.read(LIST)
    try:
        sums = _sums_of(text)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _damaged(file, LIST) from error
    _refuse_names(file, sums)
    _refuse_entries(file, archive, sums)
    return hashlib.sha256(text).hexdigest(), sums


def _refuse_names(file: Path, sums: Sums) -> None:
    """Raise `DataError` for a name that could lead out of the folder, or means nothing in a run."""
    for name in sums:
        if not _NAME.fullmatch(name):
            raise DataError(f"{file} holds {name!r}, which is no file of a run. It is refused: nothing was unpacked.")


def _refuse_entries(file: Path, archive: zipfile.ZipFile, sums: Sums) -> None:
    """Raise `DataError` unless an archive has just the files of its list, stored, none inside another."""
    expected = sorted([LIST, *sums])
    if (held := sorted(entry.filename for entry in archive.infolist())) != expected:
        odd = next(iter(sorted(set(held) ^ set(expected))), "one name twice")
        raise DataError(f"{file} is damaged: its list and what it holds differ ({odd}). Copy it anew.")
    for entry in archive.infolist():
        right = entry.filename == LIST or entry.file_size == sums[entry.filename].bytes
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 or not right:
            raise _damaged(file, entry.filename)
    if sum(entry.file_size for entry in archive.infolist()) > file.stat().st_size:
        raise DataError(f"{file} says that it holds more than it is long. It is refused: nothing was unpacked.")


def _refuse_full(file: Path, folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DataError(
            f"{file} needs {needed:,} bytes when it is unpacked, and {folder} has {free:,} left. Make room, or name "
            "another folder: CEAR_CACHE is where packed runs are unpacked."
        )


def _copied(file: Path, name: str, source: IO[bytes], copy: IO[bytes], most: int) -> str:
    """The digest of what was copied, never more than a number of bytes."""
    hashed, left = hashlib.sha256(), most
    try:
        while chunk := source.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise _damaged(file, name)
            hashed.update(chunk)
            copy.write(chunk)
    except _BROKEN:
        raise _damaged(file, name) from None
    return hashed.hexdigest()


def _damaged(file: Path, name: str) -> DataError:
    return DataError(f"{name} in {file} is damaged: it is not what was packed. Copy the file anew, or pack it anew.")


def _as_text(sums: Sums) -> str:
    files = {name: [each.bytes, each.sha256] for name, each in sums.items()}
    return json.dumps({"schema": SCHEMA, "version": __version__, "files": files}, indent=1)


def _sums_of(text: bytes) -> Sums:
    """The files that a list names; of another schema it is a `MismatchError`, and of another shape a `ValueError`."""
    values: dict[str, Any] = json.loads(text)
    if values["schema"] != SCHEMA:
        raise MismatchError(
            f"This run was packed by another version of cear (schema {values['schema']!r}, this one reads {SCHEMA}). "
            "Pack it anew with this one."
        )
    sums = {name: Sum(size, digest) for name, (size, digest) in values["files"].items()}
    if not all(type(each.bytes) is int and each.bytes >= 0 and isinstance(each.sha256, str) for each in sums.values()):
        raise ValueError("sizes and digests")
    return sums


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _THEN)
    entry.external_attr = 0o644 << 16
    return entry
