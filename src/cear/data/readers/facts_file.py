"""One file of facts in words: TSV, CSV or Parquet, with or without a header; we split it."""

from __future__ import annotations

from pathlib import Path

from cear.core.errors import DataError
from cear.data.draft import FACT, Draft, ReadOptions
from cear.data.packed import kind_of
from cear.data.readers.columns import SHAPES, likely_header, mapped_shape, shape_of
from cear.data.readers.parquet import read_parquet
from cear.data.splitting import split_facts
from cear.data.tables import Table, read_table


def recognises(path: Path) -> bool:
    """Whether this is one file of facts."""
    return path.is_file() and (kind_of(path) in SHAPES or path.suffix.lower() == ".parquet")


def read(path: Path, options: ReadOptions) -> Draft:
    """The facts of a file, split by the seed; the words are ids and names at once."""
    parquet = path.suffix.lower() == ".parquet"
    table, ignored = read_parquet(path, options) if parquet else _read_text(path, options)
    if table.rows.is_empty():
        raise DataError(f"{path} holds no facts; expected lines of {', '.join(FACT)}.")
    splits = split_facts(table.rows, options)
    repeated = table.rows.height - sum(facts.height for facts in splits.values())
    return Draft(
        splits,
        skipped=table.skipped,
        duplicate_facts=repeated,
        left_out={"columns beside subject, relation and object": ignored} if ignored else {},
        header=None if parquet else likely_header(table.rows),
    )


def _read_text(path: Path, options: ReadOptions) -> tuple[Table, int]:
    """The rows of a file, and how many columns of it are not read."""
    shape = shape_of(path, FACT) if options.columns is None else mapped_shape(path, options.columns)
    return read_table(path, shape, skip_bad_lines=options.skip_bad_lines), len(shape.ignored) + len(shape.unread)
