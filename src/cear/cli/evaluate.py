"""`cear evaluate`: measure a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cear.cli.console import console, progress_bar
from cear.nouns import Split, TieRule


def evaluate(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    split: Annotated[Split, typer.Option(help="Which facts to ask for.")] = "test",
    ties: Annotated[TieRule, typer.Option(help="The rank of a gold that ties with others.")] = "expected",
    json: Annotated[Path | None, typer.Option(help="Also write everything, unrounded, to this file.")] = None,
    data: Annotated[str | None, typer.Option(help="Where the run's data is now, if it has moved.")] = None,
) -> None:
    """Rank every query of a split, filtered, and print the measures with 95 % intervals.

    Example: `cear evaluate runs/wn --split test --json wn.json`
    """
    from cear.pipeline import open_run
    from cear.reports import evaluation_table, write_record

    finished = open_run(run, source=data)
    evaluation = finished.evaluate(split, ties=ties, progress=progress_bar)
    console.print(evaluation_table(evaluation))
    if json is not None:
        write_record(json, finished.record(evaluation))
