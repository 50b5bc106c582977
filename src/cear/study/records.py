"""Figures of the study, read from the records of cells."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cear.reports import Entry
from cear.study.cells import Cell
from cear.study.making import SEEDS

Stage = Literal["first", "last"]
Figure = Callable[[Mapping[str, Any]], float]


@dataclass(frozen=True)
class Found:
    """The records of a cell, one for each seed that was run, seed 0 first."""

    cells: tuple[Cell, ...]
    records: tuple[Mapping[str, Any], ...]
    page: Path
    """The folder of the page that links to them."""

    def __bool__(self) -> bool:
        return bool(self.records)

    @property
    def first(self) -> Mapping[str, Any]:
        """The record of the first seed."""
        return self.records[0]

    @property
    def link(self) -> str:
        """From the page to the first record."""
        return Path(os.path.relpath(self.cells[0].record, self.page)).as_posix()

    def measure(self, name: str, *, side: str = "both", stage: Stage = "last", paper: str | None = None) -> Entry:
        """A measure, its interval, and its spread over seeds."""
        if not self:
            return Entry(paper=paper)
        values = [_summary(record, stage)[side][name] for record in self.records]
        low, high = _intervals(self.first, stage)[side][name]
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        note = "" if self.cells[0].facts is None else f"{self.first['queries']:,} queries"
        mean, seeds = float(np.mean(values)), len(values)
        return Entry(mean, low, high, spread=spread, seeds=seeds, paper=paper, link=self.link, note=note)

    def number(self, figure: Figure, *, paper: str | None = None) -> Entry:
        """A number of the first record."""
        return Entry(figure(self.first), paper=paper, link=self.link) if self else Entry(paper=paper)

    def words(self, text: Callable[[Mapping[str, Any]], str | None], *, paper: str | None = None) -> Entry:
        """Words about the first record; “not run here” without one, or where it does not say."""
        said = text(self.first) if self else None
        return Entry(text=said, paper=paper, link=self.link if said else None)


@dataclass(frozen=True)
class Records:
    """The records of a study, as a page sees them."""

    page: Path
    size: str
    seeds: Sequence[int] = SEEDS

    def of(self, cell: Cell) -> Found:
        """The records of a cell, with every seed that was run; none where there is none of its settings of today."""
        sized = cell.in_size(self.size)
        pairs = [(each, each.found()) for each in map(sized.with_seed, self.seeds)] if cell.config.exists() else []
        there = [(each, record) for each, record in pairs if record is not None]
        return Found(tuple(each for each, _ in there), tuple(record for _, record in there), self.page)


def _summary(record: Mapping[str, Any], stage: Stage) -> Mapping[str, Any]:
    summary: Mapping[str, Any] = record["stage1"] if stage == "first" else record.get("stage2") or record["stage1"]
    return summary


def _intervals(record: Mapping[str, Any], stage: Stage) -> Mapping[str, Any]:
    last = stage == "last" and record.get("stage2") is not None
    intervals: Mapping[str, Any] = record["reranking"]["intervals"] if last else record["intervals"]
    return intervals
