r"""Proposals as tables: tabs, JSON lines, Parquet. All columns are written, also those that we do not know.

A tab, a line's end or a backslash inside a value of a `.tsv` would break its line, so they are written as \t, \n, \r
and \\. A null is nothing at all, and so that they differ, the empty text is \e. No value is quoted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import polars.selectors as cs

from cear.completion.export.about import About

ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
EMPTY = "\\e"
CHUNK = 65_536  # rows that are turned into bytes at a time


def write_tsv(path: Path, table: pl.DataFrame, about: About) -> None:
    """Write a header and one line a row, parted by tabs, with the escapes of this module; numbers in full precision."""
    del about  # a table of plain text has no place for it that its readers would skip
    header = pl.DataFrame({"column": table.columns}).select(_escaped(pl.col("column"))).to_series()
    with path.open("wb") as file:
        file.write(("\t".join(header) + "\n").encode())
        for rows in chunks(table):
            lines = flat(rows).with_columns(_escaped(cs.string() | cs.categorical() | cs.enum()))
            lines.write_csv(file, include_header=False, separator="\t", quote_style="never", line_terminator="\n")


def write_jsonl(path: Path, table: pl.DataFrame, about: About) -> None:
    """Write one JSON object a row; nulls are kept, structs and lists are nested, NaN and infinities become null."""
    del about  # every line is a proposal
    with path.open("wb") as file:
        for rows in chunks(table):
            rows.write_ndjson(file)


def write_parquet(path: Path, table: pl.DataFrame, about: About) -> None:
    """Write Parquet whose metadata say under `about` where the proposals come from, as JSON."""
    said = json.dumps(about.values, ensure_ascii=False)
    try:
        table.write_parquet(path, metadata={"about": said}, row_group_size=CHUNK)
    except pl.exceptions.ComputeError as error:  # what polars calls a full disk here, and only here
        raise OSError(str(error)) from error


def chunks(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows in order, so many at a time that what is made of them stays small."""
    return table.iter_slices(CHUNK)


def flat(table: pl.DataFrame) -> pl.DataFrame:
    """The table with its structs and lists as JSON texts."""
    return table.with_columns(_json(name) for name in cs.expand_selector(table, cs.nested()))


def _json(column: str) -> pl.Expr:
    whole = pl.struct(pl.col(column).alias("v")).struct.json_encode()  # {"v":...}, for only structs can be encoded
    value = whole.str.strip_prefix('{"v":').str.head(-1)
    return pl.when(pl.col(column).is_not_null()).then(value).alias(column)


def _escaped(text: pl.Expr) -> pl.Expr:
    text = text.cast(pl.String)
    return pl.when(text == "").then(pl.lit(EMPTY)).otherwise(text.str.replace_many(ESCAPES)).name.keep()
