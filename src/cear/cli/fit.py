"""`cear fit`: a run on your own data whose settings are found in the time that you give it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from cear.cli.console import console, loading, progress_bar, resumable
from cear.cli.run import STORE, measure

if TYPE_CHECKING:
    from cear.tuning import Fitted, Profile, Trial


def fit(
    data: Annotated[str, typer.Argument(help="Your facts: a file or a folder; or a known data set.")],
    minutes: Annotated[float, typer.Option(min=1, help="How long it may take, about.")] = 30,
    out: Annotated[Path, typer.Option(help="The folder of the run.")] = Path("runs/fitted"),
    store: Annotated[str | None, typer.Option(help=STORE)] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of every random choice.")] = 0,
) -> None:
    """Try settings on your data for as long as you say, keep what validation says is best, and finish that run.

    It starts from the configuration `own`, and changes one thing at a time: retrievers, candidates, folds, trainings.
    The result is a run like any other: `cear ask`, `cear complete` and `cear serve` take it.

    Example: `cear fit my/facts.tsv --minutes 30 --out runs/mine`
    """
    with loading():
        from cear.tuning import fit as search

    with resumable():
        fitted = search(data, out, minutes=minutes, store=store, seed=seed, progress=progress_bar, tell=say)
    console.print(trials_table(fitted))
    console.print(choice(fitted), markup=False, highlight=False, soft_wrap=True)  # a command stays one line
    measure(fitted.run, None, None)


def say(heard: Profile | Trial) -> None:
    """Print what has just been found out."""
    console.print(heard.in_words, markup=False, highlight=False)


def trials_table(fitted: Fitted) -> Table:
    """What was tried, and what validation said of it."""
    table = Table("tried", "MRR on validation", "gain", "seconds", "", title="Systems that were tried")
    for trial in fitted.trials:
        mrr = "–" if trial.mrr is None else f"{trial.mrr:.4f}"
        gain = "" if trial.gain is None else f"{trial.gain[0]:+.4f} ({trial.gain[1]:+.4f} to {trial.gain[2]:+.4f})"
        kept = "kept" if trial.kept else ("no time" if trial.mrr is None else "")
        table.add_row(Text(trial.change), mrr, gain, f"{trial.seconds:.0f}", kept)
    table.caption = "Gains over the best before, with an interval of one standard error: above it, a change stays."
    return table


def choice(fitted: Fitted) -> str:
    """What was chosen, how to make it again, and what more time would be spent on."""
    again = shlex.join(["cear", "run", "own", f"data={fitted.found['data']}", *fitted.overrides])
    return f"The same by hand: {again}\n{fitted.next_steps()}"
