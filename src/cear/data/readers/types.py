"""Types of entities beside the facts: an id and its types a line, `entity2types`."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cear.data.lines import LINE, BadLine, Shape
from cear.data.readers.texts import repeats
from cear.data.tables import Table, read_table, refuse

NAMES = ("entity2types.txt", "entity2types.tsv")
_SHAPE = Shape(("id", "types"))
_BETWEEN = " | "


def read_folder_types(folder: Path, *, skip_bad_lines: bool) -> Table | None:
    """The types in a folder's `entity2types`, or None when there is no such file."""
    files = [folder / name for name in NAMES if (folder / name).is_file()]
    return read_types(files[0], skip_bad_lines=skip_bad_lines) if files else None


def read_types(path: Path, *, skip_bad_lines: bool) -> Table:
    """Columns "id" and "type", a row for each type of each id of a file."""
    table = read_table(path, _SHAPE, skip_bad_lines=skip_bad_lines)
    rows = table.rows.with_columns(type=pl.col("types").str.split(_BETWEEN).list.eval(pl.element().str.strip_chars()))
    nameless = _without_name(rows, path)
    rows = rows.filter(~pl.col(LINE).is_in([problem.line for problem in nameless]))
    bad = sorted([*nameless, *repeats(rows, "id", path)], key=lambda problem: problem.line)
    refuse(bad, skip_bad_lines=skip_bad_lines)
    pairs = rows.unique("id", keep="first", maintain_order=True).select("id", "type").explode("type")
    return Table(pairs.unique(maintain_order=True), (*table.skipped, *bad))


def _without_name(rows: pl.DataFrame, path: Path) -> list[BadLine]:
    empty = pl.element().str.contains(r"^$|^\||\|$")  # of "a | | b" the split leaves "| b"
    wrong = rows.filter(pl.col("type").list.eval(empty).list.any())
    return [
        BadLine(str(path), line, f"a type is empty in {types!r}, expected types joined by {_BETWEEN!r}.")
        for line, types in wrong.select(LINE, "types").iter_rows()
    ]
