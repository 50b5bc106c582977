"""Results for programs: JSON or CSV, into a file or, with `-`, to standard output in place of the tables."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from cear.cli.console import console
from cear.core.errors import ConfigError
from cear.core.files import replacing, write_json
from cear.core.shown import shown

STDOUT = Path("-")
INSTEAD = "- is standard output, in place of the tables."
JSON = f"Also write everything, unrounded, as JSON to this file; {INSTEAD}"
CSV = f"as CSV to this file, one a row; {INSTEAD}"


@contextmanager
def instead_of_tables(*files: Path | None) -> Iterator[None]:
    """Keep tables off standard output where one of the files is `-`: a program reads it then."""
    if files.count(STDOUT) > 1:
        raise ConfigError("Only one file can be -, standard output. Name a file for the others.")
    quiet, console.quiet = console.quiet, console.quiet or STDOUT in files
    try:
        yield
    finally:
        console.quiet = quiet


def put_json(file: Path | None, value: Any) -> None:
    """Write a value as JSON, if it is wanted."""
    if file == STDOUT:
        _put(json.dumps(value, indent=2, allow_nan=False) + "\n")  # ASCII: any pipe can take it
    elif file is not None:
        write_json(file, value)


def put_csv(file: Path | None, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows with a header as CSV, if they are wanted; None is an empty cell."""
    if file is None:
        return
    text = io.StringIO()
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    if file == STDOUT:
        _put(text.getvalue())
    else:
        with replacing(file) as partial:
            partial.write_text(text.getvalue(), encoding="utf-8", newline="")


def _put(text: str) -> None:
    """Write to standard output as it is, in UTF-8; only a terminal is shown it as it shows everything."""
    typer.echo(shown(text) if sys.stdout.isatty() else text.encode(), nl=False)
