"""One file of facts in words: TSV, CSV or Parquet, with or without a header; we split it."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cear.core.errors import DataError
from cear.data.draft import FACT, Draft, ReadOptions
from cear.data.lines import LINE, BadLine
from cear.data.packed import kind_of
from cear.data.readers.columns import HEADERS, SHAPES, shape_of
from cear.data.splitting import split_facts
from cear.data.tables import Table, read_table, refuse

_FEWEST = 10  # facts of a file whose first line can look unlike all others


def recognises(path: Path) -> bool:
    """Whether this is one file of facts."""
    return path.is_file() and (kind_of(path) in SHAPES or path.suffix.lower() == ".parquet")


def read(path: Path, options: ReadOptions) -> Draft:
    """The facts of a file, split by the seed; the words are ids and names at once."""
    parquet = path.suffix.lower() == ".parquet"
    table, ignored = (_read_parquet(path, options), 0) if parquet else _read_text(path, options)
    if table.rows.is_empty():
        raise DataError(f"{path} holds no facts; expected lines of {', '.join(FACT)}.")
    splits = split_facts(table.rows, options)
    repeated = table.rows.height - sum(facts.height for facts in splits.values())
    return Draft(
        splits,
        skipped=table.skipped,
        duplicate_facts=repeated,
        left_out={"columns beside subject, relation and object": ignored} if ignored else {},
        header=None if parquet else _likely_header(table.rows),
    )


def _read_text(path: Path, options: ReadOptions) -> tuple[Table, int]:
    """The rows of a file, and how many columns of it are not read."""
    shape = shape_of(path, FACT)
    return read_table(path, shape, skip_bad_lines=options.skip_bad_lines), len(shape.ignored)


def _likely_header(rows: pl.DataFrame) -> str | None:
    """The first line if it shares no word with any other line, where relations repeat, as if it named columns."""
    if rows.height < _FEWEST or rows[LINE][0] != 1:
        return None
    words, others = rows.row(0, named=True), rows[1:]
    ends = (pl.col("subject", "object") == words[end] for end in ("subject", "object"))
    known = pl.any_horizontal(pl.col("relation") == words["relation"], *ends)
    if others.select(known.any()).item() or others["relation"].n_unique() > others.height / 2:
        return None
    return ", ".join(words[part] for part in FACT)


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
