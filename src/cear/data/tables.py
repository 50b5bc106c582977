"""Text tables read fast; a line that does not fit is looked for only after the fast way has failed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from cear.core.errors import DataError
from cear.data.lines import LINE, BadLine, Shape, read_line_by_line
from cear.data.packed import damaged, has_lone_returns, whole_lines
from cear.data.quoting import strict_line


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The good rows of a file, all text but for their line numbers, and the bad lines that were left out."""

    rows: pl.DataFrame  # the shape's columns, and LINE
    skipped: tuple[BadLine, ...] = ()


def read_table(path: Path, shape: Shape, *, skip_bad_lines: bool = False) -> Table:
    """The rows of a text table; blank lines do not count, any other misfit is an error or is skipped."""
    rows = read_fast(path, shape)
    if rows is None:
        rows, bad = read_line_by_line(path, shape)
        refuse(bad, skip_bad_lines=skip_bad_lines)
        return Table(rows, tuple(bad))
    return Table(rows)


def refuse(bad: list[BadLine], *, skip_bad_lines: bool, skippable: bool = True) -> None:
    """Raise an error about the first of these lines, unless the user said to skip them and they can be."""
    if bad and not (skip_bad_lines and skippable):
        more = f" {len(bad) - 1:,} more lines have problems." if len(bad) > 1 else ""
        advice = "Correct the file, or skip such lines (skip_bad_lines)." if skippable else "Correct the file."
        raise DataError(f"{bad[0]}{more} {advice}")


def read_fast(path: Path, shape: Shape) -> pl.DataFrame | None:
    """The rows as polars reads them, or None when some line does not fit or polars may understand it otherwise."""
    if has_lone_returns(path):  # polars drops those at the end of a field
        return None
    try:
        if shape.quoted and not _has_whole_lines(path, shape):
            return None
        rows = _scanned(path, shape).collect(engine="streaming")
    except pl.exceptions.PolarsError:
        return None
    except OSError as error:
        raise damaged(path, error) from None
    looked_at = (*shape.ignored, *shape.unread)
    if rows[shape.kept[0]].null_count():
        blank = pl.all_horizontal(pl.col(shape.kept).is_null(), *looked_at)
        rows = rows.filter(~blank)
    misread = any(_has_empty(rows[column]) or _has_tab(rows[column], shape) for column in shape.kept)
    return None if misread else rows.drop(looked_at)


def _scanned(path: Path, shape: Shape) -> pl.LazyFrame:
    """The rows with their numbers; of columns that are not kept, whether they are null."""
    lines = pl.scan_csv(
        path,
        separator=shape.separator,
        quote_char='"' if shape.quoted else None,
        has_header=False,
        glob=False,  # a path may hold brackets
        skip_lines=shape.skip_lines,
        schema=dict.fromkeys((*shape.columns, *shape.unread), pl.String()),
        row_index_name=LINE,
        row_index_offset=1 + shape.skip_lines,
    )
    # Only columns that are asked for are looked at, and without a look a line with too many fields goes unseen.
    # Streaming, so that columns that are only looked at are never all in memory.
    return lines.select(LINE, *shape.kept, *(pl.col(column).is_null() for column in (*shape.ignored, *shape.unread)))


def _has_whole_lines(path: Path, shape: Shape) -> bool:
    """Whether every quote of a CSV file is closed in its own line, where a field ends: then polars reads as we do."""
    whole = pl.col("text").str.contains(strict_line(shape.separator)).fill_null(True)  # null is a blank line
    return bool(whole_lines(path).select(whole.all()).collect(engine="streaming").item())


def is_blank(values: pl.Series) -> pl.Series:
    """Which texts hold nothing but what Python's strip takes away: white space, and four separators of ASCII."""
    return ~values.str.contains(r"[^\s\x1c-\x1f]")


def _has_empty(values: pl.Series) -> bool:
    return values.null_count() > 0 or bool(is_blank(values).any())


def _has_tab(values: pl.Series, shape: Shape) -> bool:
    """Whether a tab stands where spaces part columns: it parts them too, but polars takes it for a letter."""
    return shape.separator == " " and bool(values.str.contains("\t", literal=True).any())
