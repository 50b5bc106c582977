"""The numbers behind a figure as a table, for readers and programs that cannot see it."""

from __future__ import annotations

from collections.abc import Iterable

from cear.reports.pages.page import Bars, Chart, Column, Curve, Entry, Heat, Row, Table

_NO_POINT = Entry(text="–")


def as_table(chart: Chart) -> Table:
    """A row for each name, x or row of a figure, a column for each of its series or columns."""
    match chart:
        case Bars():
            rows = ([Entry(values[place]) for values in chart.series.values()] for place in range(len(chart.names)))
            return _table(chart, chart.series, zip(chart.names, rows, strict=True))
        case Curve():
            return _table(chart, chart.series, _points(chart))
        case Heat():
            rows = ([Entry(float(value)) for value in row] for row in chart.values)
            return _table(chart, chart.columns, zip(chart.rows, rows, strict=True))


def _points(curve: Curve) -> Iterable[tuple[str, list[Entry]]]:
    """Every x with its y in each series."""
    series = [dict(points) for points in curve.series.values()]
    for x in sorted({x for points in series for x in points}):
        yield f"{x:g}", [Entry(points[x]) if x in points else _NO_POINT for points in series]


def _table(chart: Chart, columns: Iterable[str], rows: Iterable[tuple[str, list[Entry]]]) -> Table:
    made = tuple(Row(name, tuple(entries)) for name, entries in rows)
    values = [entry.value for row in made for entry in row.entries if entry.value is not None]
    digits = 0 if all(float(value).is_integer() for value in values) else 3
    return Table(
        chart.label, chart.title, tuple(Column(name, digits=digits) for name in columns), made, tuple(chart.notes)
    )
