"""The ids behind the rows of a model, from the files in which other libraries keep them."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from cear.core.errors import DataError
from cear.retrieval.imported.config import ImportedSettings


def numbered(path: Path, *, number: int, skip_lines: int = 0, quoted: bool = False) -> list[str]:
    """The ids of a table with a number and an id in each line, in the order of their numbers.

    `number` is the column of the number, 0 or 1; the id is the other one. The numbers must be 0, 1, 2, … without a gap.
    """
    with _open(path) as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
        table = [row for row in _checked(rows, path) if row][skip_lines:]
    try:
        found = {int(row[number]): row[1 - number] for row in table}
    except (IndexError, ValueError):
        raise DataError(
            f"{path} is no table of ids: expected a number and an id in each line, parted by a tab."
        ) from None
    if sorted(found) != list(range(len(table))):
        raise DataError(f"The numbers in {path} are not 0 to {len(table) - 1}, each once: it is damaged or cut off.")
    return [found[row] for row in range(len(table))]


def listed(path: Path) -> list[str]:
    """The ids of a file with one in each line."""
    with _open(path) as file:
        return [line.rstrip("\r\n") for line in file]


def ids_files(given: ImportedSettings, folders: Sequence[Path], entities: str, relations: str) -> tuple[Path, Path]:
    """The files of ids: those that the settings name, or those of these names in the first folder that has them."""
    return (
        _first(given.entities, [folder / entities for folder in folders], "entities"),
        _first(given.relations, [folder / relations for folder in folders], "relations"),
    )


def _first(named: str | None, usual: Sequence[Path], what: str) -> Path:
    paths = usual if named is None else [Path(named)]
    for path in paths:
        if path.is_file():
            return path
    looked = ", ".join(str(path) for path in paths)
    raise DataError(f"There is no file with the ids of {what}; looked for {looked}. Name it with `{what}: FILE`.")


def _open(path: Path) -> IO[str]:
    try:
        if path.suffix == ".gz":
            return gzip.open(path, "rt", encoding="utf-8", newline="")
        return path.open(encoding="utf-8", newline="")
    except OSError as error:
        raise DataError(f"The ids in {path} cannot be read: {error.strerror}. Give a file that is there.") from None


def _checked(rows: Iterable[list[str]], path: Path) -> Iterable[list[str]]:
    try:
        yield from rows
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"The ids in {path} cannot be read: {error}. Copy the file again.") from None
