"""`cear judge`: the probability of given facts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cear.cli.complete import proposals_table, write
from cear.cli.console import console, loading, progress_bar, resumable


def judge(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    facts: Annotated[Path, typer.Argument(help="A file of facts: subject, relation, object, by id or name.")],
    out: Annotated[Path | None, typer.Option(help="Write one row for each fact: .tsv, .parquet, .jsonl, …")] = None,
    learn_from: Annotated[
        Path | None,
        typer.Option(help="Facts that people judged, with a column `truth`: judge as they would. At least 10 of each."),
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Add a reason to every fact.")] = False,
    new_entities: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Entities that the run has never seen, as JSON or YAML.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Where the run's data is now, if it has moved.")] = None,
    store: Annotated[str | None, typer.Option(help="Where the run's steps are now, if they have moved.")] = None,
) -> None:
    """Say how likely each of the given facts is, true or false, in their order.

    An entity that the knowledge base does not know is judged by its text, and its row says so.

    Example: `cear judge runs/mine extracted.tsv --out judged.tsv --why`
    """
    with loading():
        from cear.completion import refuse_format
        from cear.data import read_facts, read_judged
        from cear.pipeline import open_run, read_newcomers

    if out is not None:
        refuse_format(out)
    given = read_facts(facts)
    with resumable():
        finished = open_run(run, source=data, store=store, progress=progress_bar)
        if new_entities is not None:
            finished = finished.with_entities(read_newcomers(new_entities, finished.kb))
        known = None if learn_from is None else read_judged(learn_from, finished.kb)
        table = finished.judge(given, learn_from=known, why=why, progress=progress_bar)
    console.print(proposals_table(table))
    if out is not None:
        write(out, table, finished, "The probability of given facts, not proposals.")
        console.print(f"{len(table):,} facts are judged in {out}.", markup=False, highlight=False)
