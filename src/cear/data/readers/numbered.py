"""Files that speak in integers and begin with a count: id files, and facts of such ids."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from cear.core.errors import DataError
from cear.data.lines import LINE, BadLine, Shape, first_lines
from cear.data.readers.texts import repeats
from cear.data.tables import Table, read_table, refuse

_DIGITS = 100  # of a count


@dataclass(frozen=True, slots=True, eq=False)
class Ids:
    """The names of an id file by integer, and where they came from."""

    names: pl.Series
    file: Path


def read_ids(path: Path) -> Ids:
    """The names of an id file in the order of their integers, which must be 0, 1, 2, … without a gap."""
    # A line left out would move or lose other ids, so nothing is skipped here, whatever the user said.
    rows = _read_counted(path, ("name", "number"), skip_bad_lines=False).rows
    bad = outside(rows, "number", path, rows.height, "the lines of this file")
    bad += [*repeats(rows, "name", path), *repeats(rows, "number", path)]
    refuse(sorted(bad, key=lambda problem: problem.line), skip_bad_lines=False, skippable=False)
    return Ids(rows.sort(pl.col("number").cast(pl.Int64))["name"], path)


def read_facts(path: Path, columns: tuple[str, ...], entities: Ids, relations: Ids, *, skip_bad_lines: bool) -> Table:
    """The facts of a file in words; an integer that the id files do not have makes a bad line."""
    table = _read_counted(path, columns, skip_bad_lines=skip_bad_lines)
    vocabularies = {"subject": entities, "object": entities, "relation": relations}
    by_line: dict[int, BadLine] = {}
    for column, ids in vocabularies.items():
        for problem in outside(table.rows, column, path, len(ids.names), ids.file.name):
            by_line.setdefault(problem.line, problem)
    bad = [by_line[line] for line in sorted(by_line)]
    refuse(bad, skip_bad_lines=skip_bad_lines)
    rows = table.rows.filter(~pl.col(LINE).is_in(list(by_line)))
    words = [ids.names.gather(rows[column].cast(pl.Int64)).alias(column) for column, ids in vocabularies.items()]
    return Table(rows.with_columns(words), (*table.skipped, *bad))


def outside(rows: pl.DataFrame, column: str, path: Path, limit: int, where: str) -> list[BadLine]:
    """The lines whose value in this column is not an integer below the limit."""
    number = pl.col(column).cast(pl.Int64, strict=False)
    wrong = rows.filter(~number.is_between(0, limit - 1).fill_null(False))
    return [
        BadLine(str(path), line, f"the {column} is {value!r}, expected an id from 0 to {limit - 1} of {where}.")
        for line, value in wrong.select(LINE, column).iter_rows()
    ]


def _read_counted(path: Path, columns: tuple[str, ...], *, skip_bad_lines: bool) -> Table:
    """The rows after a first line that says how many there are."""
    count, *second = [*first_lines(path, 2), ""]
    if not count.strip().isdecimal() or len(count) > _DIGITS:
        raise DataError(f"{path}:1: found {count[:_DIGITS]!r}, expected the number of lines that follow.")
    separator = "\t" if "\t" in second[0] else " "
    shape = Shape(columns, separator=separator, skip_lines=1)
    table = read_table(path, shape, skip_bad_lines=skip_bad_lines)
    found = table.rows.height + len(table.skipped)
    if found != int(count):
        raise DataError(
            f"{path}:1: the first line says {int(count):,}, but {found:,} lines follow. The file is cut off, "
            "or the count is wrong: correct one of them."
        )
    return table
