"""`cear reproduce`: the paper's tables and figures, made and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cear.cli.console import console, errors, loading, progress_bar, resumable
from cear.cli.elsewhere import ON, elsewhere
from cear.core.errors import CearError

if TYPE_CHECKING:
    from cear.study import Cell, Making


def reproduce(
    tables: Annotated[
        list[str] | None,
        typer.Argument(help="Make these tables and figures, by their labels in the paper; all by default."),
    ] = None,
    size: Annotated[str, typer.Option(help="cpu: the stated slices of this repository; paper: its own size.")] = "cpu",
    out: Annotated[Path, typer.Option(help="Where the report is written.")] = Path("results/study"),
    store: Annotated[str | None, typer.Option(help="Where steps are kept; default: your cache.")] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Stop a training after so many minutes, all saved, with exit code 3.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, max=10, help="Seeds of a cell that costs less than an hour.")] = 3,
    only: Annotated[
        str | None, typer.Option(help="Make the cells whose names fit this pattern, such as 'wn18rr/*'; draw all.")
    ] = None,
    draw: Annotated[bool, typer.Option("--draw", help="Draw what there is, and make nothing.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be made, and what it costs.")] = False,
    download: Annotated[bool, typer.Option("--download", help="Fetch data and encoders that are not here.")] = False,
    on: Annotated[str | None, typer.Option(envvar="CEAR_ON", help=ON)] = None,
) -> None:
    """Make what is missing of the paper's tables and figures, and write all as Markdown, LaTeX and one HTML page.

    A cell is a configuration, and is made by the command in its header; what an earlier run has kept is reused, what
    was interrupted goes on, and what has a record is not made again. Run it in the repository.

    Examples: `cear reproduce ckg headtail`, `cear reproduce attention --only '*/attention/wide-*'`
    """
    with loading():
        from cear import study

    chosen = study.parts(tables or [])
    wanted = fitting(study.cells_of(chosen, size), only)
    cells = [cell for cell in wanted if draw or download or told_if_absent(cell)]
    if dry_run:
        console.print(study.plan_table(study.estimates(to_make(cells, seeds), store)))
        return
    if not draw:
        with resumable():
            making = study.Making(store, minutes, download, progress_bar, elsewhere(on))
            make(cells, making, seeds)
            for experiment in study.experiments_of(chosen, size):
                experiment.make(making, f"cear reproduce {' '.join(tables or [])}".rstrip())
    study.write_study(out / size, study.parts([]), size)  # a call for one table leaves the others in the report
    console.print(f"Written: {out / size}/study.html, .md, .tex", markup=False, highlight=False)


def fitting(cells: Sequence[Cell], pattern: str | None) -> list[Cell]:
    """The cells whose names fit a pattern of a shell; a pattern that none fits is refused."""
    found = [cell for cell in cells if fnmatchcase(cell.name, pattern or "*")]
    if cells and not found:
        raise CearError(f"--only: no cell is called {pattern!r}. They are called like {cells[0].name!r}.")
    return found


def told_if_absent(cell: Cell) -> bool:
    """Whether the data of a cell is here; if not, it is said."""
    from cear.data import is_here

    there = is_here(cell.settings.data)
    if not there:
        errors.print(f"Left out, its data is not here: {cell.name}", highlight=False, markup=False)
    return there


def to_make(cells: list[Cell], seeds: int) -> list[Cell]:
    """The cells that have no record, and those that are known to be cheap with the seeds that have none."""
    from cear.study import missing, seeds_of

    return missing([*cells, *(seeded for cell in cells for seeded in seeds_of(cell, range(seeds)))])


def make(cells: list[Cell], making: Making, seeds: int) -> None:
    """Make the cells that have no record, first with one seed, then the cheap ones with all."""
    _make_all(to_make(cells, 1), making)
    _make_all(to_make(cells, seeds), making)


def _make_all(cells: list[Cell], making: Making) -> None:
    for place, cell in enumerate(cells, start=1):
        console.print(f"{place} of {len(cells)}: {cell.command}", highlight=False, markup=False, soft_wrap=True)
        making.make(cell)
