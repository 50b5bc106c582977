"""`cear decisions`: what people decided about proposals, out of a run and into another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cear.cli.console import console, loading
from cear.core.errors import DataError

if TYPE_CHECKING:
    from cear.serving import Decisions

RUN = "The folder of a finished run."

app = typer.Typer(help="Take home what people decided about proposals.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Take home what people decided about proposals, or bring it to another run."""


@app.command()
def export(
    run: Annotated[Path, typer.Argument(help=RUN)],
    out: Annotated[Path, typer.Option(help="Where the accepted facts go: .tsv, .jsonl, .parquet, .nt or .ttl.")],
    data: Annotated[str | None, typer.Option(help="Where the run's data is now, if it has moved.")] = None,
    store: Annotated[str | None, typer.Option(help="Where the run's steps are now, if they have moved.")] = None,
) -> None:
    """Write the facts that were accepted.

    `.nt` are the facts alone, to be loaded beside the knowledge base; `.ttl` is RDF 1.2 that says who accepted each,
    when, which run had proposed it, and how likely it was called. The tables say so in columns.

    Example: `cear decisions export runs/mine --out accepted.nt`
    """
    with loading():
        from cear.pipeline import open_run
        from cear.serving.taking_home import write_accepted_facts

    decisions = _opened(run)
    count = write_accepted_facts(out, open_run(run, source=data, store=store), decisions)
    decisions.close()
    console.print(f"{count:,} accepted facts are in {out}.", markup=False, highlight=False)


@app.command()
def log(
    run: Annotated[Path, typer.Argument(help=RUN)],
    out: Annotated[Path, typer.Option(help="Where the log goes: a file of JSON lines.")],
) -> None:
    """Write every decision that was made, in order, also those that were undone.

    Another run takes it in with `cear decisions import`, and `cear judge --learn-from` learns from it.

    Example: `cear decisions log runs/mine --out decisions.jsonl`
    """
    with loading():
        from cear.serving import write_log

    decisions = _opened(run)
    made = decisions.log()
    decisions.close()
    write_log(out, made)
    console.print(f"{len(made):,} decisions are in {out}.", markup=False, highlight=False)


@app.command("import")
def take_in(
    run: Annotated[Path, typer.Argument(help=RUN)],
    logs: Annotated[list[Path], typer.Argument(help="Files of JSON lines, as `cear decisions log` writes them.")],
) -> None:
    """Add decisions of other people or other runs, each once; the last decision about a fact counts.

    Example: `cear decisions import runs/next decisions.jsonl`
    """
    with loading():
        from cear.serving import read_log

    read = [each for path in logs for each in read_log(path)]
    decisions = _opened(run, new=True)
    added = decisions.merge(read)
    decisions.close()
    console.print(f"{added:,} of {len(read):,} decisions are new to {run}.", markup=False, highlight=False)


def _opened(run: Path, *, new: bool = False) -> Decisions:
    """The log beside a run; one that is not there is made only if it is to be filled."""
    from cear.serving import Decisions
    from cear.serving.decisions import DECISIONS

    if not (run / "run.json").exists():
        raise DataError(f"{run} holds no run. Name the folder that `cear run` wrote.")
    path = run / DECISIONS
    if not new and not path.exists():
        raise DataError(f"Nobody has decided anything about {run} yet. Review its proposals: `cear serve {run}`.")
    return Decisions(path)
