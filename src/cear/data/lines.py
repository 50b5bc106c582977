"""Text files line by line: the slow way, which knows where each line stands and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import polars as pl

from cear.data.packed import raw_lines
from cear.data.quoting import Fields, Line, quoted_records

LINE = "line"  # the column that holds each row's 1-based line number
BATCH = 500_000  # rows that are held as Python objects, which take ten times the space, before they become a table
LOOKED_AT = 1 << 16  # bytes of a first line
_BOM = b"\xef\xbb\xbf"
_BLANKS = re.compile("[ \t]+")
_PARTED = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces or tabs"}


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that could not be read: where it is and what is wrong with it."""

    file: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Shape:
    """What every line of a text table must look like: these columns, parted by this separator.

    The separator " " stands for any run of spaces and tabs. `quoted` is for CSV: "a, b" may hold commas.
    """

    columns: tuple[str, ...]
    unread: tuple[str, ...] = ()
    """Further columns, which a line may leave empty or leave out; they are not kept."""
    ignored: tuple[str, ...] = ()
    """Those of `columns` that are not kept; a line has them, but may leave them empty. The last is none of them:
    nobody can tell one that is left out from one that is empty, so that it is `unread`."""
    separator: str = "\t"
    quoted: bool = False
    skip_lines: int = 0

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that are read, in their order."""
        return tuple(column for column in self.columns if column not in self.ignored)

    def has_as_many(self, fields: Fields) -> bool:
        """Whether a line of so many fields fits."""
        return 0 <= len(fields) - len(self.columns) <= len(self.unread)

    def __str__(self) -> str:
        parted = _PARTED.get(self.separator, self.separator)
        more = f", and perhaps {', '.join(self.unread)}," if self.unread else ""
        return f"{len(self.columns)} columns ({', '.join(self.columns)}){more} parted by {parted}"


def first_lines(path: Path, count: int) -> list[str]:
    """The first lines of a file as text, for looking at its shape; undecodable bytes are shown as �.

    Of very long lines it is the beginning.
    """
    return [
        line.removeprefix(_BOM)[:LOOKED_AT].decode("utf-8", "replace").rstrip("\r\n")
        for line in islice(raw_lines(path), count)
    ]


def read_line_by_line(path: Path, shape: Shape) -> tuple[pl.DataFrame, list[BadLine]]:
    """The rows that fit the shape, and the lines that do not."""
    bad: list[BadLine] = []
    good = _good(path, shape, bad)
    tables = [_table([], shape)]
    while batch := list(islice(good, BATCH)):
        tables.append(_table(batch, shape))
    return pl.concat(tables), bad


def _good(path: Path, shape: Shape, bad: list[BadLine]) -> Iterator[tuple[int, Fields]]:
    """The kept fields of each line that fits, with its number; the others are added to `bad`."""
    places = [shape.columns.index(column) for column in shape.kept]
    every, width = len(places) == len(shape.columns), len(shape.columns)
    for line, fields in _rows(path, shape):
        if isinstance(fields, list) and shape.has_as_many(fields):
            kept = fields[:width] if every else [fields[place] for place in places]
            if all(map(str.strip, kept)):
                yield line, kept
                continue
        problem = _problem(fields, shape)
        if problem:
            bad.append(BadLine(str(path), line, problem))


def _table(rows: list[tuple[int, Fields]], shape: Shape) -> pl.DataFrame:
    columns = {LINE: pl.Series([line for line, _ in rows], dtype=pl.UInt32)}
    for index, column in enumerate(shape.kept):
        columns[column] = pl.Series([fields[index] for _, fields in rows], dtype=pl.String)
    return pl.DataFrame(columns)


def _problem(fields: Fields | UnicodeDecodeError | None, shape: Shape) -> str | None:
    """What is wrong with a line that does not fit; nothing if it is blank, for then it does not count."""
    if fields is None:
        return (
            "a quote stands here that is not closed, or not where a field ends. "
            "Write a quote inside of a field in quotes twice."
        )
    if isinstance(fields, UnicodeDecodeError):
        return not_utf8(fields)
    if not any(map(str.strip, fields)):
        return None
    if not shape.has_as_many(fields):
        return f"found {len(fields)} columns {_shown(fields)}, expected {shape}."
    named = dict(zip(shape.columns, fields, strict=False))
    empty = next(column for column in shape.kept if not named[column].strip())
    return f"the {empty} is empty in {_shown(fields)}."


def not_utf8(error: UnicodeDecodeError) -> str:
    """What is wrong with a line whose bytes are not UTF-8."""
    return f"byte {error.start + 1} of the line is not UTF-8 ({error.object[error.start]:#04x})."


def _shown(fields: Fields) -> str:
    text = repr([field[:200] for field in fields[:200]])
    return text if len(text) <= 200 else text[:200] + "…"


def _rows(path: Path, shape: Shape) -> Iterator[tuple[int, Fields | UnicodeDecodeError | None]]:
    """The fields of each line with its number; an error where it is not UTF-8, None where a quote is not closed."""
    lines = numbered_lines(path, skip=shape.skip_lines)
    return quoted_records(lines, shape.separator, shape.has_as_many) if shape.quoted else _plain_rows(lines, shape)


def _plain_rows(lines: Iterator[Line], shape: Shape) -> Iterator[tuple[int, Fields | UnicodeDecodeError]]:
    for number, text in lines:
        if isinstance(text, UnicodeDecodeError):
            yield number, text
        elif shape.separator == " ":
            yield number, _BLANKS.split(text.strip(" \t"))
        else:
            yield number, text.split(shape.separator)


def numbered_lines(path: Path, *, skip: int = 0) -> Iterator[Line]:
    """Every line of a file behind the first `skip` with its number, from 1; an error where the bytes are not UTF-8."""
    for number, raw in enumerate(raw_lines(path), start=1):
        if number > skip:
            yield number, _decoded(raw.removeprefix(_BOM) if number == 1 else raw)


def _decoded(raw: bytes) -> str | UnicodeDecodeError:
    try:
        return raw.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        return error
