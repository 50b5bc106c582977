"""OpenKE's id files: integers in the facts, HEAD TAIL RELATION, and a count on every first line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from cear.data.draft import FACT, Draft, ReadOptions
from cear.data.lines import LINE, BadLine, Shape, first_lines
from cear.data.readers.texts import read_texts, repeats
from cear.data.tables import Table, read_table, refuse
from cear.errors import DataError
from cear.nouns import SPLITS

VOCABULARIES = ("entity2id.txt", "relation2id.txt")
ROW = ("subject", "object", "relation")  # OpenKE's order


def recognises(path: Path) -> bool:
    """Whether this is a folder with OpenKE's ids and training facts."""
    return all((path / name).is_file() for name in (*VOCABULARIES, "train2id.txt"))


def read(path: Path, options: ReadOptions) -> Draft:
    """The facts of an OpenKE folder; entities and relations keep the integers that the files give them."""
    skip = options.skip_bad_lines
    entities, relations = (_read_ids(path / name) for name in VOCABULARIES)
    files = {split: path / f"{split}2id.txt" for split in SPLITS if (path / f"{split}2id.txt").is_file()}
    facts = {split: _read_facts(file, entities, relations, skip_bad_lines=skip) for split, file in files.items()}
    texts = read_texts(path, "entity", rule=options.text, skip_bad_lines=skip)
    relation_texts = read_texts(path, "relation", rule="name", skip_bad_lines=skip)
    tables = [*facts.values(), *(table for table in (texts, relation_texts) if table)]
    return Draft(
        splits={split: table.rows.select(FACT) for split, table in facts.items()},
        entity_texts=texts.rows if texts else None,
        relation_texts=relation_texts.rows if relation_texts else None,
        entity_ids=entities.names,
        relation_ids=relations.names,
        skipped=tuple(line for table in tables for line in table.skipped),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Ids:
    """The names of an id file by integer, and where they came from."""

    names: pl.Series
    file: Path


def _read_ids(path: Path) -> _Ids:
    """The names of an id file in the order of their integers, which must be 0, 1, 2, … without a gap."""
    # A line left out would move or lose other ids, so nothing is skipped here, whatever the user said.
    rows = _read_counted(path, ("name", "number"), skip_bad_lines=False).rows
    bad = _outside(rows, "number", path, rows.height, "the lines of this file")
    bad += [*repeats(rows, "name", path), *repeats(rows, "number", path)]
    refuse(sorted(bad, key=lambda problem: problem.line), skip_bad_lines=False, skippable=False)
    return _Ids(rows.sort(pl.col("number").cast(pl.Int64))["name"], path)


def _read_facts(path: Path, entities: _Ids, relations: _Ids, *, skip_bad_lines: bool) -> Table:
    """The facts of a split in words; an integer that the id files do not have makes a bad line."""
    table = _read_counted(path, ROW, skip_bad_lines=skip_bad_lines)
    vocabularies = {"subject": entities, "object": entities, "relation": relations}
    by_line: dict[int, BadLine] = {}
    for column, ids in vocabularies.items():
        for problem in _outside(table.rows, column, path, len(ids.names), ids.file.name):
            by_line.setdefault(problem.line, problem)
    bad = [by_line[line] for line in sorted(by_line)]
    refuse(bad, skip_bad_lines=skip_bad_lines)
    rows = table.rows.filter(~pl.col(LINE).is_in(list(by_line)))
    words = [ids.names.gather(rows[column].cast(pl.Int64)).alias(column) for column, ids in vocabularies.items()]
    return Table(rows.with_columns(words), (*table.skipped, *bad))


def _outside(rows: pl.DataFrame, column: str, path: Path, limit: int, where: str) -> list[BadLine]:
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
    if not count.strip().isdecimal():
        raise DataError(f"{path}:1: found {count!r}, expected the number of lines that follow.")
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
