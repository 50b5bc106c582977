"""What parts the columns of a text file of facts, and which of them holds what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from cear.data.columns import Columns
from cear.data.draft import FACT
from cear.data.lines import LINE, Shape, first_lines
from cear.data.packed import kind_of
from cear.data.quoting import split_quoted

SHAPES = {
    ".tsv": Shape(FACT),
    ".txt": Shape(FACT),
    ".csv": Shape(FACT, separator=",", quoted=True),
}
HEADERS = {
    "subject": "subject",
    "head": "subject",
    "relation": "relation",
    "predicate": "relation",
    "object": "object",
    "tail": "object",
}
SEPARATORS = (",", ";", "\t", "|")  # of .csv files; the first one where several fit
_LINES = 20  # that decide which
_FEWEST = 10  # facts of a file whose first line can look unlike all others


def shape_of(path: Path, *orders: tuple[str, ...]) -> Shape:
    """The shape of a file of facts: its columns are those of its header or, without one, of the order that is as long.

    A header names subject, relation and object, in any order; columns that nobody asks for may stand beside them.
    """
    shape, lines = SHAPES[kind_of(path)], first_lines(path, _LINES)
    if shape.quoted:
        shape = replace(shape, separator=_separator(lines, orders))
    fields = _split(lines[0], shape) if lines else []
    header = _header(fields, orders)
    if header:
        return replace(_with_columns(shape, header, orders[-1]), skip_lines=1)
    return replace(shape, columns=next((order for order in orders if len(order) == len(fields)), orders[0]))


def mapped_shape(path: Path, columns: Columns) -> Shape:
    """The shape of a file whose columns the user says; all others are ignored.

    The first line is a header if a column is given by its name there, or if it names a fact as our own headers do.
    """
    shape, lines = SHAPES[kind_of(path)], first_lines(path, _LINES)
    if shape.quoted:
        shape = replace(shape, separator=_mapped_separator(lines, columns))
    fields = _split(lines[0], shape) if lines else []
    parts = columns.places(fields, path)
    header = columns.names or all(HEADERS.get(fields[place].strip().lower()) == part for place, part in parts.items())
    every = tuple(parts.get(place, f"column {place + 1}") for place in range(len(fields)))
    return replace(_with_columns(shape, every, FACT), skip_lines=1 if header else 0)


def _with_columns(shape: Shape, columns: tuple[str, ...], asked: Sequence[str]) -> Shape:
    """The shape with these columns; of those that nobody asks for, a line may leave out the last ones."""
    width = max(place for place, column in enumerate(columns, start=1) if column in asked)
    ignored = tuple(column for column in columns[:width] if column not in asked)
    return replace(shape, columns=columns[:width], unread=columns[width:], ignored=ignored)


def likely_header(rows: pl.DataFrame) -> str | None:
    """The first line if it shares no word with any other line, where relations repeat, as if it named columns."""
    if rows.height < _FEWEST or rows[LINE][0] != 1:
        return None
    words, others = rows.row(0, named=True), rows[1:]
    relations = others["relation"]
    if (relations == words["relation"]).any() or relations.n_unique() > others.height / 2:
        return None
    ends = (pl.col("subject", "object") == words[end] for end in ("subject", "object"))
    known = others.select(pl.any_horizontal(*ends).any()).item()
    return None if known else ", ".join(words[part] for part in FACT)


def _split(line: str, shape: Shape) -> list[str]:
    return (split_quoted(line, shape.separator) or []) if shape.quoted else line.split(shape.separator)


def _separator(lines: Sequence[str], orders: Sequence[tuple[str, ...]]) -> str:
    """What parts the columns: that by which the first line is a header, else most lines have as many as they should."""

    def fits(separator: str) -> tuple[bool, int]:
        rows = [split_quoted(line, separator) or [] for line in lines]
        widths = [len(order) for order in orders]
        return bool(rows) and _header(rows[0], orders) is not None, sum(len(row) in widths for row in rows)

    return max(SEPARATORS, key=fits)


def _mapped_separator(lines: Sequence[str], columns: Columns) -> str:
    """What parts the columns: that by which the first line has those that the user says, and most lines as many."""
    names = {name.lower() for name in columns.names}

    def fits(separator: str) -> tuple[int, bool, int]:
        rows = [split_quoted(line, separator) or [] for line in lines]
        first = rows[0] if rows else []
        named = len(names & {field.strip().lower() for field in first})
        widest = max([len(FACT), *columns.numbers])
        return named, len(first) >= widest, sum(len(row) == len(first) for row in rows)

    return max(SEPARATORS, key=fits)


def _header(fields: Sequence[str], orders: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    """The columns that a first line names, or None when it is a fact already; others are called by their place."""
    names = HEADERS | {column: column for column in orders[-1]}
    found = [names.get(field.strip().lower()) for field in fields]
    known = [name for name in found if name]
    if len(set(known)) < len(known) or not set(FACT) <= set(known):
        return None
    return tuple(name or f"column {place}" for place, name in enumerate(found, start=1))
