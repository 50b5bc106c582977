"""`cear pack` and `cear unpack`: a finished run with its data as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cear.cli.console import console, loading, progress_bar


def pack(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    file: Annotated[Path, typer.Argument(help="The file to write, for example mine.cear.")],
    everything: Annotated[
        bool, typer.Option("--everything", help="Also take along steps that only trained others, as an audit needs.")
    ] = False,
    data: Annotated[str | None, typer.Option(help="Where the run's data is now, if it has moved.")] = None,
    store: Annotated[str | None, typer.Option(help="Where the run's steps are now, if they have moved.")] = None,
) -> None:
    """Write a finished run, its data and what it is loaded from as one file that can be moved.

    Every command that opens a run takes the file in place of the folder; the file itself is only read.

    Examples: `cear pack runs/mine mine.cear`, `cear ask mine.cear Kenya "official language"`
    """
    with loading():
        from cear.pipeline import open_run
        from cear.pipeline import pack as write

    held = write(open_run(run, source=data, store=store, progress=progress_bar), file, everything=everything)
    told = f"{len(held):,} files, {file.stat().st_size:,} bytes, are in {file}."
    console.print(told, markup=False, highlight=False, soft_wrap=True)


def unpack(
    file: Annotated[Path, typer.Argument(help="A run that `cear pack` wrote.")],
    folder: Annotated[Path, typer.Argument(help="The folder of the run; it must not be there yet.")],
) -> None:
    """Unpack a packed run into a folder: a run like any other, with its data in it.

    Example: `cear unpack mine.cear runs/mine`
    """
    with loading():
        from cear.pipeline import unpack_run

    unpack_run(file, folder)
    console.print(f"The run is in {folder}.", markup=False, highlight=False, soft_wrap=True)
