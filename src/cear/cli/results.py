"""`cear results`: the records in a folder as one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def results(
    folder: Annotated[Path, typer.Argument(help="Where the records are.")] = Path("results"),
) -> None:
    """Print every evaluation record under a folder as a Markdown table.

    Example: `cear results results > table.md`
    """
    from cear.cli.console import console
    from cear.reports import results_table

    console.print(results_table(folder), soft_wrap=True, markup=False, highlight=False)
