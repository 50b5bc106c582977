"""`cear export`: a finished run for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cear.cli.console import console, loading, progress_bar
from cear.core.types import Split


def export(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    out: Annotated[Path, typer.Option(help="The folder to write into.")],
    what: Annotated[
        Literal["trec", "lists", "scorer", "pykeen", "reranker", "card", "all"],
        typer.Option(
            help="trec: a run with qrels, to be judged by any tool; lists: candidates with scores, to be read as a "
            "Stage 1; scorer: vectors of Stage 1 with their ids; pykeen: the same as weights for PyKEEN; reranker: a "
            "Hugging Face folder; card: what the run is; all: all that there is."
        ),
    ] = "all",
    split: Annotated[Split, typer.Option(help="Which facts to ask for.")] = "test",
    k: Annotated[int, typer.Option(min=1, help="How deep rankings and lists are written.")] = 1000,
    data: Annotated[str | None, typer.Option(help="Where the run's data is now, if it has moved.")] = None,
    store: Annotated[str | None, typer.Option(help="Where the run's steps are now, if they have moved.")] = None,
) -> None:
    """Write what a run has learned and ranked in the formats of others.

    Example: `cear export runs/demo --out exported --what trec --k 100`
    """
    with loading():
        from cear.pipeline import open_run

    finished = open_run(run, source=data, store=store)
    for path in finished.export(out, what, split=split, k=k, progress=progress_bar):
        console.print(str(path), markup=False, highlight=False, soft_wrap=True)
