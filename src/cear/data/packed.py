"""The bytes of a file, unpacked where its content is gzip or zstd, line by line whatever ends a line."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from cear.core.errors import DataError

SUFFIXES = ("", ".gz", ".zst")  # of the name; whether a file is packed its content decides
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_HEAD = 1 << 16  # bytes that are looked at for what ends a line
_CHUNK = 1 << 20
_OLD_END = re.compile(rb"\r[^\n]")


def kind_of(path: Path) -> str:
    """The suffix that says what a file holds, in lower case: .tsv of facts.tsv and of facts.TSV.gz."""
    name = path.with_suffix("") if path.suffix.lower() in SUFFIXES[1:] else path
    return name.suffix.lower()


@contextmanager
def unpacked(path: Path) -> Iterator[io.BufferedReader[Any]]:
    """The content of a file, to be read once; what is packed and damaged is an error as soon as that is met."""
    try:
        with io.BufferedReader(io.FileIO(path), _HEAD) as file:
            start = file.peek(len(_ZSTD))
            if start.startswith(_GZIP):
                yield io.BufferedReader(gzip.GzipFile(fileobj=file), _HEAD)
            elif start.startswith(_ZSTD):
                yield io.BufferedReader(io.BytesIO(_of_zstd(path)), _HEAD)
            else:
                yield file
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damaged(path, error) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None


def damaged(path: Path, error: Exception) -> DataError:
    """The error about a packed file that cannot be unpacked."""
    return DataError(f"{path} is packed and damaged: {error}. Copy it anew, or pack it anew.")


def raw_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file with what ends them: a line feed or, where its start has none, a carriage return."""
    with unpacked(path) as file:
        head = file.peek(_HEAD)
        if b"\n" in head or not _OLD_END.search(head):
            yield from file
            return
        with io.TextIOWrapper(file, encoding="latin-1", newline="\r") as text:  # each byte is a letter, and back
            yield from (line.encode("latin-1") for line in text)


def has_lone_returns(path: Path) -> bool:
    """Whether a carriage return stands anywhere but before a line feed."""
    with unpacked(path) as file:
        while chunk := file.read(_CHUNK):
            while chunk.endswith(b"\r") and (more := file.read(1)):
                chunk += more
            if chunk.count(b"\r") != chunk.count(b"\r\n"):
                return True
    return False


def _of_zstd(path: Path) -> bytes:
    """What a zstd file holds. Python has no zstd before 3.14; polars has, but gives lines of text only."""
    try:
        lines = whole_lines(path).collect()["text"]
    except OSError as error:
        raise damaged(path, error) from None
    except pl.exceptions.PolarsError:
        raise DataError(f"{path} is packed by zstd and not all UTF-8. Unpack it (zstd -d) to be told where.") from None
    return "\n".join(line or "" for line in lines).encode()


def whole_lines(path: Path) -> pl.LazyFrame:
    """The column "text" with every line of a file, packed or not, null where a line is blank."""
    never = "\x1f"  # polars wants a separator; a line that has this one makes it fail
    return pl.scan_csv(
        path, separator=never, quote_char=None, has_header=False, schema={"text": pl.String()}, glob=False
    )
