"""Facts in a Parquet file: which columns they are in, and how values that are no text become words."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl

from cear.core.errors import DataError
from cear.core.tables import refuse_deadly
from cear.data.columns import Columns
from cear.data.draft import FACT, ReadOptions
from cear.data.lines import LINE, BadLine
from cear.data.readers.columns import HEADERS
from cear.data.tables import Table, is_blank, refuse

_AS_IT_IS = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Date, pl.Datetime, pl.Time, pl.Null)
_WHOLE = 2.0**63  # numbers from here on are no integers of 64 bits


def read_parquet(path: Path, options: ReadOptions) -> tuple[Table, int]:
    """The facts of a file in words, and how many columns of it are not read."""
    refuse_deadly(path)
    try:
        schema = pl.read_parquet_schema(path)
        columns = _columns(list(schema), options.columns, path)
        for column, part in columns.items():
            _refuse_kind(column, part, schema[column], path)
        rows = pl.read_parquet(path, columns=list(columns), glob=False).rename(columns)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}") from error
    except pl.exceptions.PanicException as error:  # of a damaged file; it is no Exception
        raise DataError(f"{path} cannot be read as Parquet: it is damaged. Copy it anew.") from error
    words = rows.select(_in_words(rows[part]) for part in FACT)
    fits = words.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
    bad = [_bad_row(row, rows.row(row, named=True), words.row(row, named=True), path) for row in (~fits).arg_true()]
    refuse(bad, skip_bad_lines=options.skip_bad_lines)
    return Table(words.with_row_index(LINE, offset=1).filter(fits), tuple(bad)), len(schema) - len(columns)


def _columns(there: list[str], given: Columns | None, path: Path) -> dict[str, str]:
    """The part of a fact that each column holds: as the user says, by name, or by place where there are just three."""
    if given is not None:
        return {there[place]: part for place, part in given.places(there, path).items()}
    named = {column: HEADERS[column.lower()] for column in there if column.lower() in HEADERS}
    if sorted(named.values()) == sorted(FACT):
        return named
    if len(there) == len(FACT):
        return dict(zip(there, FACT, strict=True))
    raise DataError(
        f"{path} has the columns {there}; expected {', '.join(FACT)}, or exactly three columns. "
        "Say which hold the facts (columns)."
    )


def _refuse_kind(column: str, part: str, kind: pl.DataType, path: Path) -> None:
    """Raise an error about a column of values that are no words: lists, structures, bytes, durations, decimals."""
    if not (kind.is_integer() or kind.is_float() or isinstance(kind, _AS_IT_IS)):
        raise DataError(
            f"{path}: the column {column!r}, for the {part}, holds {kind}; expected text, integers, truth values, "
            "dates or times. Write it as text, or take another column (columns)."
        )


def _in_words(values: pl.Series) -> pl.Series:
    """The values of a column as text, those of floats as integers; null where one is blank or no integer."""
    if values.dtype.is_float():  # ids become floats where a program marks a missing one by NaN
        whole = values.is_finite() & (values == values.floor()) & (values.abs() < _WHOLE)
        values = pl.select(pl.when(whole).then(values)).to_series().cast(pl.Int64).alias(values.name)
    words = values.cast(pl.String)
    return words.set(is_blank(words), None)


def _bad_row(row: int, values: dict[str, Any], words: dict[str, Any], path: Path) -> BadLine:
    """What is wrong with a row that has a value without words."""
    part = next(part for part in FACT if words[part] is None)
    fraction = isinstance(values[part], float) and not math.isnan(values[part])
    problem = f"is {values[part]}, expected text or an integer" if fraction else "of this row is empty"
    return BadLine(str(path), row + 1, f"the {part} {problem}.")
