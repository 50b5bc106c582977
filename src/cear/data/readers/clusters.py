"""Clusters of mentions, one mention a line: its id, how many mentions its cluster has, and their ids."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cear.core.errors import DataError
from cear.data.lines import LINE, BadLine, Shape
from cear.data.readers.numbered import Ids
from cear.data.tables import Table, read_table, refuse

_WHOLE_LINE = Shape(("text",), separator="\x1f")  # how many fields a line has, its cluster decides


def read_clusters(path: Path, entities: Ids, *, skip_bad_lines: bool) -> Table:
    """The mentions of the clusters of a file, columns "thing" and "id", each mention in one cluster.

    A line that puts a mention into a second cluster is bad; when such lines are skipped, the first one counts.
    """
    lines = read_table(path, _WHOLE_LINE, skip_bad_lines=skip_bad_lines)
    if lines.rows.is_empty() and not lines.skipped:
        raise DataError(f"{path} holds no clusters. Fill it or remove it.")
    rows = _parsed(lines.rows, len(entities.names))
    members = rows.filter("fits").select(LINE, "cluster", member="members").explode("member")
    bad = [*_misfits(rows, path, entities), *_in_two(members, path, entities)]
    refuse(sorted(bad, key=lambda problem: problem.line), skip_bad_lines=skip_bad_lines)
    members = members.filter(~pl.col(LINE).is_in([problem.line for problem in bad])).unique("member")
    things = members.sort("member").select(
        thing=pl.col("cluster").rank("dense").cast(pl.Int64) - 1,
        id=entities.names.gather(members["member"].sort()),
    )
    return Table(things, (*lines.skipped, *bad))


def _parsed(rows: pl.DataFrame, n_entities: int) -> pl.DataFrame:
    """The rows with their members, ascending, a text that is the same for the same cluster, and whether all fits."""
    numbers = pl.col("text").str.split("\t").cast(pl.List(pl.Int64), strict=False)
    rows = rows.with_columns(
        mention=numbers.list.get(0, null_on_oob=True),
        count=numbers.list.get(1, null_on_oob=True),
        members=numbers.list.slice(2).list.unique().list.sort(),
    )
    members = pl.col("members")
    inside = members.list.eval(pl.element().is_between(0, n_entities - 1).fill_null(False)).list.all()
    fits = inside & (pl.col("count") == members.list.len()) & members.list.contains(pl.col("mention"))
    return rows.with_columns(
        fits=fits.fill_null(False), cluster=members.cast(pl.List(pl.String)).list.join(" ", ignore_nulls=True)
    )


def _misfits(rows: pl.DataFrame, path: Path, entities: Ids) -> list[BadLine]:
    expected = (
        "expected the id of a mention, the number of mentions in its cluster, and their ids, its own among them, "
        f"from 0 to {len(entities.names) - 1} of {entities.file.name}, all parted by tabs."
    )
    return [
        BadLine(str(path), line, f"found {text!r}, {expected}")
        for line, text in rows.filter(~pl.col("fits")).select(LINE, "text").iter_rows()
    ]


def _in_two(members: pl.DataFrame, path: Path, entities: Ids) -> list[BadLine]:
    """The lines whose cluster has a mention that an earlier line has put into another one."""
    first = members.with_columns(pl.col("cluster", LINE).first().over("member").name.prefix("first_"))
    again = first.filter(pl.col("cluster") != pl.col("first_cluster")).unique(LINE, keep="first", maintain_order=True)
    return [
        BadLine(
            str(path),
            line,
            f"the mention {member} ({entities.names[member]!r}) is in another cluster on line {earlier}; "
            "expected each in one.",
        )
        for line, member, earlier in again.select(LINE, "member", f"first_{LINE}").iter_rows()
    ]
