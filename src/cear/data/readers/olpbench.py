"""OLPBENCH (Broscheit et al. 2020): surface forms, and beside held-out facts the other mentions of their ends."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import polars as pl

from cear.core.errors import DataError
from cear.core.types import Split
from cear.data.draft import FACT, Draft, DraftMentions, ReadOptions, Variant
from cear.data.lines import LINE, BadLine, Shape, first_lines
from cear.data.tables import Table, read_table, refuse

HELD_OUT: dict[Split, str] = {"valid": "validation_data_linked.txt", "test": "test_data.txt"}
MENTIONS = ("subject mentions", "object mentions")
BETWEEN = "|||"
NOTE = ":impl_"  # of the extractor, on a token of a relation: has:impl_poss-clause


def recognises(path: Path) -> bool:
    """Whether this is a folder with a training file of OLPBENCH."""
    return any((path / train_file(variant)).is_file() for variant in get_args(Variant))


def read(path: Path, options: ReadOptions) -> Draft:
    """The facts of one training file, of `validation_data_linked` and `test_data`, with the mentions these give."""
    skip = options.skip_bad_lines
    tables: dict[Split, Table] = {"train": _read_train(path, options)}
    for split, name in HELD_OUT.items():
        if (path / name).is_file():
            tables[split] = _read_linked(path / name, skip_bad_lines=skip)
    splits = {split: table.rows.select(FACT) for split, table in tables.items()}
    linked = {split: table.rows for split, table in tables.items() if split in HELD_OUT}
    return Draft(
        splits=splits,
        relation_texts=_without_notes([facts["relation"] for facts in splits.values()]),
        mentions=_mentions(linked) if linked else None,
        skipped=tuple(line for table in tables.values() for line in table.skipped),
    )


def train_file(variant: Variant) -> str:
    """The name of a training file."""
    return f"train_data_{variant}.txt"


def _read_train(path: Path, options: ReadOptions) -> Table:
    file = path / train_file(options.variant)
    if not file.is_file():
        there = [variant for variant in get_args(Variant) if (path / train_file(variant)).is_file()]
        raise DataError(f"{path} has no {file.name}. It has {' and '.join(there)}: choose by variant={there[0]!r}.")
    # What stands in the last two columns of training files is empty, or subject and object again.
    columns = "".join(first_lines(file, 1)).split("\t")
    shape = Shape(FACT, unread=MENTIONS if len(columns) > len(FACT) else ())
    return read_table(file, shape, skip_bad_lines=options.skip_bad_lines)


def _read_linked(path: Path, *, skip_bad_lines: bool) -> Table:
    """The facts of a file with the mentions of their ends; an empty mention makes a bad line."""
    table = read_table(path, Shape((*FACT, *MENTIONS)), skip_bad_lines=skip_bad_lines)
    if table.rows.is_empty() and not table.skipped:
        raise DataError(f"{path} holds no facts. Fill it or remove it.")
    empty = [(_listed(column).list.contains("")).alias(column) for column in MENTIONS]
    rows = table.rows.select(LINE, *empty).filter(pl.any_horizontal(MENTIONS))
    bad = [
        BadLine(str(path), line, f"one of the {MENTIONS[not subject]} is empty; expected words between {BETWEEN}.")
        for line, subject, _ in rows.iter_rows()
    ]
    refuse(bad, skip_bad_lines=skip_bad_lines)
    return Table(table.rows.filter(~pl.col(LINE).is_in(rows[LINE].implode())), (*table.skipped, *bad))


def _mentions(linked: Mapping[Split, pl.DataFrame]) -> DraftMentions:
    """A thing for each surface form with the mentions that a fact gives it; the form is one of them."""
    ends = {split: {end: _form(rows, end) for end in ("subject", "object")} for split, rows in linked.items()}
    every = pl.concat([form for forms in ends.values() for form in forms.values()])
    things = every.unique(maintain_order=True).with_row_index("thing").with_columns(pl.col("thing").cast(pl.Int64))
    members = things.select("thing", id=pl.concat_list("form", _listed("listed"))).explode("id")
    links = {
        split: pl.DataFrame(
            {
                end: form.join(things, on=["form", "listed"], how="left", maintain_order="left")["thing"]
                for end, form in forms.items()
            }
        )
        for split, forms in ends.items()
    }
    return DraftMentions(members, links)


def _form(rows: pl.DataFrame, end: str) -> pl.DataFrame:
    """One end of each fact: the surface form there, and the mentions that the line lists for it."""
    return rows.select(form=end, listed=f"{end} mentions")


def _listed(column: str) -> pl.Expr:
    return pl.col(column).str.split(BETWEEN).list.eval(pl.element().str.strip_chars())


def _without_notes(columns: list[pl.Series]) -> pl.DataFrame:
    """Names of those relations that carry notes of the extractor, without these, for they are no words."""
    noted = pl.concat([column.filter(column.str.contains(NOTE, literal=True)) for column in columns]).unique()
    name = pl.col("id").str.replace_all(rf"{NOTE}\S*", "")
    return pl.DataFrame({"id": noted}).select("id", name=name, description=pl.lit(None, pl.String))
