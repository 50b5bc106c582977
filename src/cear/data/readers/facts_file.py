"""One file of facts in words: TSV, CSV or Parquet, with or without a header; we split it."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import polars as pl

from cear.core.errors import DataError
from cear.data.draft import FACT, Draft, ReadOptions
from cear.data.lines import LINE, BadLine, Shape, first_lines
from cear.data.splitting import split_facts
from cear.data.tables import Table, read_table, refuse

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


def recognises(path: Path) -> bool:
    """Whether this is one file of facts."""
    return path.is_file() and (path.suffix.lower() in SHAPES or path.suffix.lower() == ".parquet")


def read(path: Path, options: ReadOptions) -> Draft:
    """The facts of a file, split by the seed; the words are ids and names at once."""
    parquet = path.suffix.lower() == ".parquet"
    table = _read_parquet(path, options) if parquet else _read_text(path, options)
    if table.rows.is_empty():
        raise DataError(f"{path} holds no facts; expected lines of {', '.join(FACT)}.")
    splits = split_facts(table.rows, options)
    repeated = table.rows.height - sum(facts.height for facts in splits.values())
    return Draft(splits, skipped=table.skipped, duplicate_facts=repeated)


def _read_text(path: Path, options: ReadOptions) -> Table:
    shape = SHAPES[path.suffix.lower()]
    header = _header(path, shape)
    if header:
        shape = replace(shape, columns=header, skip_lines=1)
    return read_table(path, shape, skip_bad_lines=options.skip_bad_lines)


def first_fields(path: Path, shape: Shape) -> list[str]:
    """The fields of a file's first line."""
    lines = first_lines(path, 1)
    fields = csv.reader(lines) if shape.quoted else (line.split(shape.separator) for line in lines)
    return next(iter(fields), [])


def _header(path: Path, shape: Shape) -> tuple[str, ...] | None:
    """The columns that the first line names, or None when that line is a fact already."""
    columns = tuple(HEADERS.get(field.strip().lower(), "") for field in first_fields(path, shape))
    return columns if sorted(columns) == sorted(FACT) else None


def _read_parquet(path: Path, options: ReadOptions) -> Table:
    try:
        columns = _parquet_columns(path)
        rows = pl.read_parquet(path, columns=list(columns), glob=False).rename(columns)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}") from error
    rows = rows.with_columns(pl.col(FACT).cast(pl.String)).with_row_index(LINE, offset=1)
    empty = pl.any_horizontal(pl.col(FACT).is_null() | (pl.col(FACT) == ""))
    bad = [BadLine(str(path), row, "a field of this row is empty.") for row in rows.filter(empty)[LINE].to_list()]
    refuse(bad, skip_bad_lines=options.skip_bad_lines)
    return Table(rows.filter(~empty), tuple(bad))


def _parquet_columns(path: Path) -> dict[str, str]:
    """Which column of the file holds which part of a fact: by name, or by place when there are just three."""
    columns = list(pl.read_parquet_schema(path))
    named = {column: HEADERS[column.lower()] for column in columns if column.lower() in HEADERS}
    if sorted(named.values()) == sorted(FACT):
        return named
    if len(columns) == len(FACT):
        return dict(zip(columns, FACT, strict=True))
    raise DataError(f"{path} has the columns {columns}; expected {', '.join(FACT)}, or exactly three columns.")
