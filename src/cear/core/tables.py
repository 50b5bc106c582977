"""Tables on disk: Parquet files, read with the columns that somebody needs, or an error that says what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
from polars.datatypes import DataTypeClass

from cear.core.reading import in_words, reading, unreadable

Kind = pl.DataType | DataTypeClass

_TRIAL = "import sys, polars; polars.read_parquet(sys.argv[1], glob=False)"


def read_table(path: Path, columns: Mapping[str, Kind] | None = None) -> pl.DataFrame:
    """A table, or these columns of it as these kinds: any integers for integers, any numbers for others, no nulls."""
    with _opening(path):
        table = pl.read_parquet(path, glob=False)
        if columns is None:
            return table
        return table.select(_as(path, table[name], kind) for name, kind in columns.items())


def read_words(path: Path, key: str) -> Any:
    """The value of JSON that a table has under this key; None where it says nothing there."""
    with _opening(path):
        text = pl.read_parquet_metadata(path).get(key)
        return None if text is None else json.loads(text)


def refuse_deadly(path: Path) -> None:
    """Raise an error about a stranger's file that ends the process that reads it.

    polars asks for as much memory as a damaged file says, and nobody can catch what happens where there is not so much:
    so another process tries first. What we have sealed needs no trial.
    """
    trial = subprocess.run([sys.executable, "-P", "-c", _TRIAL, str(path)], capture_output=True, check=False)
    if trial.returncode < 0:
        raise unreadable(path, "it asks for more memory than there is")


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    try:
        with reading(path):
            if not path.is_file():  # polars would read all files of a folder
                raise FileNotFoundError(2, "there is no such file")
            yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # it panics at some damaged files
        raise unreadable(path, in_words(error)) from error


def _as(path: Path, column: pl.Series, kind: Kind) -> pl.Series:
    """A column as another kind; what would be cut off or made up is refused."""
    values = _values(column)
    if values.null_count():
        raise unreadable(path, f"the column {column.name} has empty places")
    if _innermost(kind).is_integer() and not values.dtype.is_integer() and len(values):
        raise unreadable(path, f"the column {column.name} holds {values.dtype}, expected integers")
    return column.cast(kind)


def _values(column: pl.Series) -> pl.Series:
    """The values of a column, those inside of lists too, all in one row; an empty list has none."""
    while isinstance(column.dtype, pl.List | pl.Array) and not column.null_count():
        lists = column if isinstance(column.dtype, pl.List) else column.arr.to_list()
        column = lists.filter(lists.list.len() > 0).explode()
    return column


def _innermost(kind: Kind) -> pl.DataType:
    while isinstance(kind, pl.List | pl.Array):
        kind = kind.inner
    return kind if isinstance(kind, pl.DataType) else kind()
