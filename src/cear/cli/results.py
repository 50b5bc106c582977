"""`cear results`: the records in a folder as one table, or whether they still hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cear.cli.console import console


def results(
    folder: Annotated[Path, typer.Argument(help="Where the records are.")] = Path("results"),
    check: Annotated[
        bool, typer.Option("--check", help="Say whether configuration, code and data are still those of each record.")
    ] = False,
) -> None:
    """Print every evaluation record under a folder as a Markdown table.

    With --check, a table of what has become of the configuration file, the package and the data that each record was
    made with; the exit code is 1 if any of them has changed. The code is the same where every step of the record has
    the key that it would have today. Configurations are looked for from the working folder.

    Example: `cear results results > table.md`, `cear results --check`
    """
    from cear.reports import check_records, checks_table, results_table

    if not check:
        console.print(results_table(folder), soft_wrap=True, markup=False, highlight=False)
        return
    from cear.study import load_settings, steps_of

    checks = list(check_records(folder, load_settings, steps_of))
    console.print(checks_table(checks, folder))
    if any(each.changed for each in checks):
        raise typer.Exit(1)
