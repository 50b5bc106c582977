"""Text files line by line: the slow way, which knows where each line stands and what is wrong with it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import polars as pl

from cear.core.errors import DataError

LINE = "line"  # the column that holds each row's 1-based line number
BATCH = 500_000  # rows that are held as Python objects, which take ten times the space, before they become a table
_BOM = b"\xef\xbb\xbf"


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
    separator: str = "\t"
    quoted: bool = False
    skip_lines: int = 0

    def __str__(self) -> str:
        parted = {"\t": "tabs", ",": "commas", " ": "spaces or tabs"}.get(self.separator, self.separator)
        more = f", and perhaps {', '.join(self.unread)}," if self.unread else ""
        return f"{len(self.columns)} columns ({', '.join(self.columns)}){more} parted by {parted}"


def first_lines(path: Path, count: int) -> list[str]:
    """The first lines of a file as text, for looking at its shape; undecodable bytes are shown as �."""
    with _open(path) as file:
        lines = [line for line, _ in zip(file, range(count), strict=False)]
    return [line.removeprefix(_BOM).decode("utf-8", "replace").rstrip("\r\n") for line in lines]


def read_line_by_line(path: Path, shape: Shape) -> tuple[pl.DataFrame, list[BadLine]]:
    """The rows that fit the shape, and the lines that do not."""
    bad: list[BadLine] = []
    good = _good(path, shape, bad)
    tables = [_table([], shape)]
    while batch := list(islice(good, BATCH)):
        tables.append(_table(batch, shape))
    return pl.concat(tables), bad


def _good(path: Path, shape: Shape, bad: list[BadLine]) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line that fits, with its number; the others are added to `bad`."""
    for line, fields in _fields(path, shape):
        problem = _problem(fields, shape)
        if problem:
            bad.append(BadLine(str(path), line, problem))
        elif isinstance(fields, list):
            yield line, fields


def _table(rows: list[tuple[int, list[str]]], shape: Shape) -> pl.DataFrame:
    columns = {LINE: pl.Series([line for line, _ in rows], dtype=pl.UInt32)}
    for index, column in enumerate(shape.columns):
        columns[column] = pl.Series([fields[index] for _, fields in rows], dtype=pl.String)
    return pl.DataFrame(columns)


def _problem(fields: list[str] | UnicodeDecodeError, shape: Shape) -> str | None:
    if isinstance(fields, UnicodeDecodeError):
        return not_utf8(fields)
    if not 0 <= len(fields) - len(shape.columns) <= len(shape.unread):
        return f"found {len(fields)} columns {_shown(fields)}, expected {shape}."
    empty = [column for column, field in zip(shape.columns, fields, strict=False) if not field.strip()]
    return f"the {empty[0]} is empty in {_shown(fields)}." if empty else None


def not_utf8(error: UnicodeDecodeError) -> str:
    """What is wrong with a line whose bytes are not UTF-8."""
    return f"byte {error.start + 1} of the line is not UTF-8 ({error.object[error.start]:#04x})."


def _shown(fields: list[str]) -> str:
    text = repr(fields)
    return text if len(text) <= 200 else text[:200] + "…"


def _fields(path: Path, shape: Shape) -> Iterator[tuple[int, list[str] | UnicodeDecodeError]]:
    """The fields of each line that is not blank, with its number; an error where the bytes are not UTF-8."""
    lines = _quoted_records(path) if shape.quoted else numbered_lines(path)
    for number, text in lines:
        if number <= shape.skip_lines:
            continue
        if isinstance(text, UnicodeDecodeError):
            yield number, text
        elif text.strip():
            yield number, _parted(text, shape)


def _parted(text: str, shape: Shape) -> list[str]:
    if shape.quoted:
        return next(csv.reader(io.StringIO(text), delimiter=shape.separator), [])
    return text.split() if shape.separator == " " else text.split(shape.separator)


def numbered_lines(path: Path) -> Iterator[tuple[int, str | UnicodeDecodeError]]:
    """Every line of a file with its number, from 1; an error where the bytes are not UTF-8."""
    with _open(path) as file:
        for number, raw in enumerate(file, start=1):
            yield number, _decoded(raw.removeprefix(_BOM) if number == 1 else raw)


def _quoted_records(path: Path) -> Iterator[tuple[int, str | UnicodeDecodeError]]:
    """Lines joined while a quotation is open, numbered by their first line."""
    started, record = 0, ""
    for number, text in numbered_lines(path):
        if isinstance(text, UnicodeDecodeError):
            yield number, text
            continue
        started = started if record else number
        record = f"{record}\n{text}" if record else text
        if record.count('"') % 2 == 0:
            yield started, record
            record = ""
    if record:
        yield started, record


def _decoded(raw: bytes) -> str | UnicodeDecodeError:
    try:
        return raw.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        return error


def _open(path: Path) -> io.BufferedReader:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
