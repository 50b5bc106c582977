"""What a page shows: tables of figures, histograms, curves and heat maps. Values are unrounded; drawings round them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Literal, TypeAlias

import numpy as np

from cear.core.errors import DataError
from cear.core.types import Floats

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")  # it names a file and an anchor


@dataclass(frozen=True)
class Entry:
    """One figure of a table. Without a value and a text it reads “not run here”."""

    value: float | None = None
    low: float | None = None
    """The lower end of the 95 % interval."""
    high: float | None = None
    """The upper end of it."""
    spread: float | None = None
    """The standard deviation over seeds; `value` is then their mean."""
    seeds: int = 1
    paper: str | None = None
    """What the paper prints."""
    link: str | None = None
    """The address of its record, relative to the page."""
    note: str = ""
    """A few words, such as “2,500 facts”."""
    text: str | None = None
    """What stands in the place of a value that is no number, such as “20 hrs”."""

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("value", "low", "high", "spread")}
        _refuse_not_finite((each for each in given.values() if each is not None), f"The entry with {given}")
        if (self.low is None) != (self.high is None):
            raise DataError(f"An entry has one end of an interval, {self.low} to {self.high}. Give both ends or none.")


@dataclass(frozen=True)
class Row:
    """A line of a table: an entry for each column."""

    label: str
    entries: tuple[Entry, ...]
    ours: bool = False
    """Whether the best of it may be printed bold."""


@dataclass(frozen=True)
class Column:
    """What the entries of a column are, and how they are printed."""

    name: str
    group: str = ""
    """What neighbouring columns share, such as a data set."""
    digits: int = 3
    """Behind the point, as printed."""
    percent: bool = False
    """Whether .422 is printed as 42.2, for which `digits` is 1."""
    best: Literal["highest", "lowest", "none"] = "highest"

    @property
    def heading(self) -> str:
        """The name, and the unit if values are printed in percent."""
        return f"{self.name}, %" if self.percent else self.name


@dataclass(frozen=True)
class Table:
    """Figures in rows and columns."""

    label: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _refuse_label(self.label)
        for row in self.rows:
            if len(row.entries) != len(self.columns):
                raise DataError(
                    f"The row {row.label!r} of table {self.label!r} has {len(row.entries)} entries for "
                    f"{len(self.columns)} columns. Give one for each, Entry() for what was not run."
                )


@dataclass(frozen=True)
class Bars:
    """A histogram: for each name a bar of every series. Without a series it reads “not run here”."""

    label: str
    title: str
    x: str
    y: str
    names: tuple[str, ...]
    series: Mapping[str, tuple[float, ...]]
    notes: tuple[str, ...] = ()
    log: bool = False
    """Whether heights are logarithms, for counts that differ by orders of magnitude; a zero then has no bar."""

    def __post_init__(self) -> None:
        _refuse_label(self.label)
        for name, values in self.series.items():
            what = f"The series {name!r} of figure {self.label!r}"
            _refuse_not_finite(values, what)
            if len(values) != len(self.names):
                raise DataError(f"{what} has {len(values)} values for {len(self.names)} names. Give one for each.")
            if self.log and min(values, default=0) < 0:
                raise DataError(f"{what} has {min(values)}, which has no logarithm. Draw it with log=False.")


@dataclass(frozen=True)
class Curve:
    """Lines through the points (x, y) of every series. Without a series it reads “not run here”."""

    label: str
    title: str
    x: str
    y: str
    series: Mapping[str, tuple[tuple[float, float], ...]]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _refuse_label(self.label)
        for name, points in self.series.items():
            _refuse_not_finite((each for point in points for each in point), f"{name!r} of figure {self.label!r}")


@dataclass(frozen=True, eq=False)
class Heat:
    """A value for each row and column as a shade. Without rows it reads “not run here”."""

    label: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Floats
    """(row, column)."""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _refuse_label(self.label)
        shape = (len(self.rows), len(self.columns))
        if self.values.shape != shape:
            raise DataError(f"The values of figure {self.label!r} are {self.values.shape}, its names {shape}.")
        _refuse_not_finite(np.ravel(self.values), f"Figure {self.label!r}")


Chart: TypeAlias = Bars | Curve | Heat
Part: TypeAlias = Table | Bars | Curve | Heat


@dataclass(frozen=True)
class Page:
    """Tables and figures with what one should know before reading them. All texts are plain text."""

    title: str
    about: tuple[str, ...]
    """Paragraphs."""
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        label, count = max(
            Counter(part.label for part in self.parts).items(), key=lambda each: each[1], default=("", 0)
        )
        if count > 1:
            raise DataError(f"{count} parts of the page {self.title!r} have the label {label!r}. Give each its own.")


def is_empty(chart: Chart) -> bool:
    """Whether a figure has nothing to draw."""
    if isinstance(chart, Heat):
        return chart.values.size == 0
    return not any(chart.series.values())


def _refuse_label(label: str) -> None:
    if not _LABEL.fullmatch(label):
        raise DataError(f"The label {label!r} cannot name a file: use letters, digits, '_', '-' and '.'.")


def _refuse_not_finite(values: Iterable[float], what: str) -> None:
    if not all(map(isfinite, values)):
        raise DataError(f"{what} has a value that is not finite. Leave out what could not be measured.")
