"""What parts the columns of a text file of facts, and which of them holds what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cear.data.draft import FACT
from cear.data.lines import Shape, first_lines
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
        ignored = tuple(column for column in header if column not in orders[-1])
        return replace(shape, columns=header, ignored=ignored, skip_lines=1)
    return replace(shape, columns=next((order for order in orders if len(order) == len(fields)), orders[0]))


def _split(line: str, shape: Shape) -> list[str]:
    return (split_quoted(line, shape.separator) or []) if shape.quoted else line.split(shape.separator)


def _separator(lines: Sequence[str], orders: Sequence[tuple[str, ...]]) -> str:
    """What parts the columns: that by which the first line is a header, else most lines have as many as they should."""

    def fits(separator: str) -> tuple[bool, int]:
        rows = [split_quoted(line, separator) or [] for line in lines]
        widths = [len(order) for order in orders]
        return bool(rows) and _header(rows[0], orders) is not None, sum(len(row) in widths for row in rows)

    return max(SEPARATORS, key=fits)


def _header(fields: Sequence[str], orders: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    """The columns that a first line names, or None when it is a fact already; others are called by their place."""
    names = HEADERS | {column: column for column in orders[-1]}
    found = [names.get(field.strip().lower()) for field in fields]
    known = [name for name in found if name]
    if len(set(known)) < len(known) or not set(FACT) <= set(known):
        return None
    return tuple(name or f"column {place}" for place, name in enumerate(found, start=1))
