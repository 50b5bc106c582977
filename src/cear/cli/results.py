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
    aside: Annotated[
        bool,
        typer.Option(
            "--set-aside", help="Move records that have changed to earlier/COMMIT, which says what they are of."
        ),
    ] = False,
) -> None:
    """Print every evaluation record under a folder as a Markdown table.

    With --check, a table of what has become of the configuration file, the package and the data that each record was
    made with; the exit code is 1 if any of them has changed. The code is the same where every step of the record has
    the key that it would have today. Configurations are looked for from the working folder.

    With --set-aside, those that have changed are moved to `earlier/COMMIT` in the folder, with their ranks. There they
    are neither checked nor taken for what the code of today gives; `cear results results/earlier` prints them.

    Example: `cear results results > table.md`, `cear results --check`
    """
    from cear.reports import check_records, checks_table, results_table, set_aside

    if not (check or aside):
        console.print(results_table(folder), soft_wrap=True, markup=False, highlight=False)
        return
    from cear.study import load_settings, steps_of

    checks = list(check_records(folder, load_settings, steps_of))
    if aside:
        for before, now in set_aside(checks, folder).items():
            console.print(f"{before} -> {now}", soft_wrap=True, markup=False, highlight=False)
        return
    console.print(checks_table(checks, folder))
    if any(each.changed for each in checks):
        raise typer.Exit(1)
