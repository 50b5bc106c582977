"""Making cells: a run, its evaluation, its record. What is kept is reused, what was interrupted goes on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cear.core.progress import Progress, silent
from cear.pipeline import Elsewhere, run
from cear.reports import write_record
from cear.study.cells import Cell

HOUR = 3600.0
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Making:
    """How cells are made."""

    store: Path | str | None = None
    """Where steps are kept; None for the user's cache."""
    minutes: float | None = None
    """So long a training may go on before it is saved and stopped."""
    download: bool = False
    progress: Progress = silent
    on: Elsewhere | None = None
    """Who makes the steps of runs, where this process does not; experiments beside runs are made here."""

    def make(self, cell: Cell) -> None:
        """Make the record of a cell."""
        made = run(
            cell.settings,
            cell.out,
            store=self.store,
            minutes=self.minutes,
            download=self.download,
            on=self.on,
            progress=self.progress,
        )
        evaluation = made.evaluate(cell.split, facts=cell.facts, protocol=cell.protocol, progress=self.progress)
        write_record(cell.record, made.record(evaluation, facts=cell.facts, command=cell.command), evaluation)


def missing(cells: Iterable[Cell]) -> list[Cell]:
    """The cells, each once, that have no record of their settings of today."""
    return [cell for cell in dict.fromkeys(cells) if cell.found() is None]


def seeds_of(cell: Cell, seeds: Sequence[int] = SEEDS) -> list[Cell]:
    """A cell with each seed, if training it once took less than an hour; the first alone if not, or if nobody knows."""
    record = cell.found()
    cheap = record is not None and record["provenance"]["seconds"] < HOUR
    return [cell.with_seed(seed) for seed in (seeds if cheap else seeds[:1])]
