"""`cear audit`: the facts of a knowledge base that look wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from cear.cli.complete import write
from cear.cli.console import console, loading, progress_bar, resumable
from cear.cli.elsewhere import ON, elsewhere
from cear.core.shown import one_line

if TYPE_CHECKING:
    import polars as pl

SHOWN = 20


def audit(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    out: Annotated[Path | None, typer.Option(help="Write the facts that look wrong: .tsv, .parquet, .jsonl, …")] = None,
    most: Annotated[int, typer.Option(min=1, help="How many facts, the least likely first.")] = 100,
    why: Annotated[bool, typer.Option("--why", help="Add a reason to every fact.")] = False,
    data: Annotated[str | None, typer.Option(help="Where the run's data is now, if it has moved.")] = None,
    store: Annotated[str | None, typer.Option(help="Where the run's steps are now, if they have moved.")] = None,
    on: Annotated[str | None, typer.Option(envvar="CEAR_ON", help=ON)] = None,
) -> None:
    """List the training facts that look wrong, each judged by models that never saw it.

    All folds are held out in turn: this trains as many retrievers as there are folds, once.

    Example: `cear audit runs/mine --out suspicious.tsv --why`
    """
    with loading():
        from cear.completion import refuse_format
        from cear.pipeline import open_run

    if out is not None:
        refuse_format(out)
    with resumable():
        finished = open_run(run, source=data, store=store, on=elsewhere(on), progress=progress_bar)
        table = finished.audit(most, why=why, progress=progress_bar)
    console.print(audit_table(table))
    if out is not None:
        write(out, table, finished, "Training facts that look wrong, judged by models that never saw them.")
        console.print(f"{len(table):,} facts are in {out}.", markup=False, highlight=False)


def audit_table(table: pl.DataFrame, most: int = SHOWN) -> Table:
    """The first facts, with what might stand there instead and what contradicts them."""
    drawn = Table(title=Text("Facts that look wrong"), title_justify="left")
    drawn.add_column("probability", justify="right")
    reasons = bool(table["reasons"].head(most).drop_nulls().len())
    for column in ("fact", "rather", "beside", *(["why"] if reasons else [])):
        drawn.add_column(column, overflow="fold")
    for row in table.head(most).iter_rows(named=True):
        fact = Text(one_line(f"⟨{row['subject_name']}, {row['relation_name']}, {row['object_name']}⟩"))
        columns = ("instead", "contradicts", *(["reasons"] if reasons else []))
        rest = (Text(row[column] or "") for column in columns)
        drawn.add_row(f"{row['probability']:.4f}", fact, *rest)
    return drawn
