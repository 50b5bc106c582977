"""How an entry reads: rounded here and nowhere else. A drawing escapes the pieces and puts them in their places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from cear.reports.pages.page import Column, Entry, Table

NOT_RUN = "not run here"
EVERYWHERE = "“paper” is the value that the paper prints."


@dataclass(frozen=True)
class Reading:
    """The pieces of an entry as text; a piece that it does not have is empty."""

    value: str
    spread: str = ""
    interval: str = ""
    paper: str = ""
    note: str = ""
    missing: bool = False
    """Whether nothing was run."""

    @property
    def around(self) -> str:
        """How sure the value is: the spread over seeds, the interval, or both."""
        return " ".join(filter(None, (self.spread, self.interval)))


def reading(entry: Entry, column: Column) -> Reading:
    """An entry as it reads in its column.

    >>> reading(Entry(0.4751, 0.4621, 0.4881, paper=".47"), Column("MRR"))
    Reading(value='.475', spread='', interval='(.462-.488)', paper='.47', note='', missing=False)
    >>> reading(Entry(0.4221, spread=0.0021, seeds=3), Column("H@1", digits=1, percent=True)).spread
    '± 0.2'
    """
    paper = entry.paper or ""
    if entry.text is not None:
        return Reading(entry.text, paper=paper, note=entry.note)
    if entry.value is None:
        return Reading(NOT_RUN, paper=paper, note=entry.note, missing=True)
    return Reading(
        number(entry.value, column), _spread(entry, column), _interval(entry, column), paper=paper, note=entry.note
    )


def number(value: float, column: Column) -> str:
    """A value rounded; one below 1 has no zero before its point, unless it is in percent.

    >>> number(-0.0421, Column("gain")), number(2500, Column("facts", digits=0))
    ('-.042', '2,500')
    """
    if column.percent:
        return f"{value:z,.{column.digits}%}".removesuffix("%")
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:z,.{column.digits}f}")


def best_of(table: Table) -> set[tuple[int, int]]:
    """Where the best of our values stand, (row, column); those that print alike are equally good.

    A column in which we have one value has no best.
    """
    return {place for column in range(len(table.columns)) for place in _best_of_column(table, column)}


def groups(table: Table) -> list[tuple[str, int]]:
    """The groups of neighbouring columns and how many columns each spans; none where no column has one."""
    found = [(name, len(list(columns))) for name, columns in groupby(table.columns, attrgetter("group"))]
    return found if any(name for name, _ in found) else []


def legend(table: Table, *, paper: str = EVERYWHERE) -> str:
    """What the marks of a table mean; only those that it has. `paper` says how the paper's values are set."""
    entries = [entry for row in table.rows for entry in row.entries]
    shown = [entry for entry in entries if entry.text is None and entry.value is not None]
    seeds = sorted({entry.seeds for entry in shown if entry.spread is not None})
    sentences = {
        "Two numbers in parentheses are a 95 % interval.": any(entry.low is not None for entry in shown),
        f"± is the standard deviation over {' or '.join(map(str, seeds))} seeds.": bool(seeds),
        paper: any(entry.paper for entry in entries),
        "Bold: the best of our rows.": bool(best_of(table)),
    }
    return " ".join(sentence for sentence, holds in sentences.items() if holds)


def _spread(entry: Entry, column: Column) -> str:
    return "" if entry.spread is None else f"± {number(entry.spread, column)}"


def _interval(entry: Entry, column: Column) -> str:
    if entry.low is None or entry.high is None:
        return ""
    low, high = number(entry.low, column), number(entry.high, column)
    return f"({low} to {high})" if "-" in low + high else f"({low}-{high})"


def _best_of_column(table: Table, column: int) -> list[tuple[int, int]]:
    ours = {
        row: entry.value
        for row, entry in ((row, each.entries[column]) for row, each in enumerate(table.rows) if each.ours)
        if entry.value is not None and entry.text is None
    }
    about = table.columns[column]
    if about.best == "none" or len(ours) < 2:
        return []
    best = number((max if about.best == "highest" else min)(ours.values()), about)
    return [(row, column) for row, value in ours.items() if number(value, about) == best]
