"""Names and descriptions beside the facts: entity2text, entity2textlong, relation2text."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cear.data.draft import TEXT, TextRule
from cear.data.lines import LINE, BadLine, Shape
from cear.data.tables import Table, read_table, refuse

_SHAPE = Shape(("id", "text"))


def read_texts(folder: Path, kind: str, *, rule: TextRule, skip_bad_lines: bool) -> Table | None:
    """Ids with name and description from `<kind>2text` and `<kind>2textlong`, or None when neither is there."""
    short = _read(folder, f"{kind}2text", skip_bad_lines=skip_bad_lines)
    long = _read(folder, f"{kind}2textlong", skip_bad_lines=skip_bad_lines)
    if short is None and long is None:
        return None
    rows = _named(short.rows, rule) if short else pl.DataFrame(schema=dict.fromkeys(TEXT, pl.String))
    if long:
        rows = _described(rows, long.rows)
    return Table(rows.select(TEXT), (short.skipped if short else ()) + (long.skipped if long else ()))


def _named(rows: pl.DataFrame, rule: TextRule) -> pl.DataFrame:
    if rule == "name":
        return rows.select("id", name="text", description=pl.lit(None, pl.String))
    parts = pl.col("text").str.splitn(", ", 2)
    return rows.select("id", name=parts.struct.field("field_0"), description=parts.struct.field("field_1"))


def _described(rows: pl.DataFrame, long: pl.DataFrame) -> pl.DataFrame:
    """The long text is the description, whatever the short one held."""
    joined = rows.join(long.select("id", "text"), on="id", how="full", coalesce=True, maintain_order="left_right")
    return joined.with_columns(description=pl.coalesce("text", "description"))


def _read(folder: Path, stem: str, *, skip_bad_lines: bool) -> Table | None:
    paths = [path for path in (folder / f"{stem}.txt", folder / f"{stem}.tsv", folder / stem) if path.is_file()]
    if not paths:
        return None
    table = read_table(paths[0], _SHAPE, skip_bad_lines=skip_bad_lines)
    repeated = repeats(table.rows, "id", paths[0])
    refuse(repeated, skip_bad_lines=skip_bad_lines)
    return Table(table.rows.unique("id", keep="first", maintain_order=True), (*table.skipped, *repeated))


def repeats(rows: pl.DataFrame, column: str, path: Path) -> list[BadLine]:
    """The lines that give an id a second time."""
    first = rows.select(column, first=pl.col(LINE).min().over(column), line=LINE)
    again = first.filter(pl.col("line") != pl.col("first"))
    return [
        BadLine(str(path), line, f"the {column} {value!r} stands already on line {earlier}; expected each once.")
        for value, earlier, line in again.select(column, "first", "line").iter_rows()
    ]
