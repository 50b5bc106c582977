"""`cear complete`: the facts that a knowledge base lacks, with probabilities."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from cear.cli.console import console, loading, progress_bar, resumable
from cear.cli.elsewhere import ON, PARTS, elsewhere, holders
from cear.core.places import can_write
from cear.core.shown import one_line

if TYPE_CHECKING:
    import polars as pl

    from cear.pipeline import Completion, Run

SHOWN = 20


def complete(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    out: Annotated[
        Path | None, typer.Option(help="Also write the proposals to this file: .tsv, .parquet, .jsonl, .nt or .ttl.")
    ] = None,
    relations: Annotated[
        list[str] | None, typer.Option("--relations", help="Only facts of this relation; may be given again.")
    ] = None,
    subjects: Annotated[
        list[str] | None, typer.Option("--subjects", help="Only facts of this subject; may be given again.")
    ] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Ask so many questions, the most promising first.")] = None,
    min_probability: Annotated[float, typer.Option(min=0, max=1, help="Propose what is at least as probable.")] = 0.05,
    max_false: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Propose as much as can be promised to have at most this share of false facts."
        ),
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Add a reason to every proposal.")] = False,
    new_entities: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Complete entities that the run has never seen, as JSON or YAML."),
    ] = None,
    data: Annotated[str | None, typer.Option(help="Where the run's data is now, if it has moved.")] = None,
    store: Annotated[str | None, typer.Option(help="Where the run's steps are now, if they have moved.")] = None,
    on: Annotated[str | None, typer.Option(envvar="CEAR_ON", help=ON)] = None,
    parts: Annotated[int | None, typer.Option(min=1, help=PARTS)] = None,
) -> None:
    """Propose facts that no split has, the most probable first, for people to review and as a file.

    They wait beside the run for `cear serve`, with those of earlier completions; facts of new entities do not.

    A run that is not calibrated is calibrated first; with `refit: true` in its configuration, retrievers that have
    learned from all facts are asked. An interrupted completion continues when the same command is called again.

    Example: `cear complete runs/mine --out new.tsv --max-false 0.1 --why`
    """
    with loading():
        from cear.completion import refuse_format
        from cear.pipeline import open_run, read_newcomers
        from cear.serving.proposed import keep_proposals

    if out is not None:
        refuse_format(out)
    started = datetime.now(UTC)
    with resumable(), holders(on, parts) as held:
        made_on = elsewhere(on) if held is None else None
        finished = open_run(run, source=data, store=store, on=made_on, holders=held, progress=progress_bar)
        if new_entities is not None:
            finished = finished.with_entities(read_newcomers(new_entities, finished.kb))
        made = finished.complete(
            relations=relations,
            subjects=subjects,
            budget=budget,
            min_probability=min_probability,
            max_false=max_false,
            why=why,
            progress=progress_bar,
        )
    if out is not None:
        write(out, made.table, finished, made.note, started)
    if new_entities is None and can_write(finished.folder):
        keep_proposals(finished, made)
    console.print(proposals_table(made.table))
    tell(made, out)


def write(out: Path, table: pl.DataFrame, finished: Run, note: str, started: datetime | None = None) -> None:
    """Write facts with where they come from."""
    from cear import __version__
    from cear.completion import About, write_table

    now, digest = datetime.now(UTC), finished.kb.digest
    write_table(out, table, About(finished.folder.name, digest, __version__, now, note=note, started=started))


def tell(made: Completion, out: Path | None) -> None:
    """Say how many there are, what was promised, and where they are."""
    kept = made.promise
    if kept is not None and kept.threshold is None:
        console.print(
            f"No threshold can be promised: validation facts are not sure enough that at most {kept.max_false:.0%} of "
            "any proposals are false. Allow more, or give more validation facts.",
            highlight=False,
        )
    elif kept is not None:
        console.print(
            f"With {kept.confidence:.0%} confidence at most {kept.max_false:.0%} of these {kept.proposals:,} are false "
            f"(probability at least {kept.threshold:.3f}).",
            highlight=False,
        )
    where = "wait for review: `cear serve`" if out is None else f"are in {out}"
    console.print(f"{len(made.table):,} proposals {where}. {made.note}", markup=False, highlight=False)


def proposals_table(table: pl.DataFrame, title: str = "", most: int = SHOWN) -> Table:
    """The first proposals with their probabilities, and their reasons where there are any."""
    reasons = "reasons" in table.columns and bool(table["reasons"].head(most).drop_nulls().len())
    drawn = Table(title=Text(title) if title else None, title_justify="left")
    drawn.add_column("probability", justify="right")
    for column in ("fact", "known", *(["why"] if reasons else [])):
        drawn.add_column(column, overflow="fold")
    for row in table.head(most).iter_rows(named=True):
        fact = Text(one_line(f"⟨{row['subject_name']}, {row['relation_name']}, {row['object_name']}⟩"))
        chance = "" if row["probability"] is None else f"{row['probability']:.3f}"
        drawn.add_row(chance, fact, row["known"] or "new", *([Text(row["reasons"] or "")] if reasons else []))
    return drawn
