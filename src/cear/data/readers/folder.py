"""A folder of train, valid and test facts, one a line, with texts beside them."""

from __future__ import annotations

from pathlib import Path

from cear.core.errors import DataError
from cear.core.types import SPLITS, Split
from cear.data.draft import FACT, Draft, ReadOptions
from cear.data.lines import Shape
from cear.data.packed import SUFFIXES
from cear.data.readers.columns import likely_header, mapped_shape
from cear.data.readers.texts import read_texts
from cear.data.readers.types import read_folder_types
from cear.data.tables import Table, read_table

STEMS: dict[Split, tuple[str, ...]] = {"train": ("train",), "valid": ("valid", "dev"), "test": ("test",)}
_SHAPE = Shape(FACT)


def recognises(path: Path) -> bool:
    """Whether this is a folder with a train file."""
    return path.is_dir() and facts_file(path, "train") is not None


def read(path: Path, options: ReadOptions) -> Draft:
    """The facts, texts and types of a folder; valid and test may be absent."""
    skip = options.skip_bad_lines
    files = {split: file for split in SPLITS if (file := facts_file(path, split))}
    tables = {split: _facts(file, options) for split, file in files.items()}
    entities = read_texts(path, "entity", rule=options.text, skip_bad_lines=skip)
    relations = read_texts(path, "relation", rule="name", skip_bad_lines=skip)
    types = read_folder_types(path, skip_bad_lines=skip)
    every = [*tables.values(), *(table for table in (entities, relations, types) if table)]
    return Draft(
        splits={split: table.rows.select(FACT) for split, table in tables.items()},
        entity_texts=entities.rows if entities else None,
        relation_texts=relations.rows if relations else None,
        types=types.rows if types else None,
        skipped=tuple(line for table in every for line in table.skipped),
        header=likely_header(tables["train"].rows),
    )


def facts_file(folder: Path, split: Split) -> Path | None:
    """The file of a split's facts, or None; two candidates for one split are an error."""
    names = [f"{stem}{suffix}{packed}" for stem in STEMS[split] for suffix in (".txt", ".tsv") for packed in SUFFIXES]
    found = [folder / name for name in names if (folder / name).is_file()]
    if len(found) > 1:
        raise DataError(
            f"{folder} has {' and '.join(file.name for file in found)}, both for {split}; keep one of them."
        )
    return found[0] if found else None


def _facts(path: Path, options: ReadOptions) -> Table:
    shape = _SHAPE if options.columns is None else mapped_shape(path, options.columns)
    table = read_table(path, shape, skip_bad_lines=options.skip_bad_lines)
    if table.rows.is_empty():
        raise DataError(f"{path} holds no facts; expected lines of {shape}. Fill it or remove it.")
    return table
