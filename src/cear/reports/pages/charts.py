"""Histograms, curves and heat maps as SVG: text that any browser draws, without a library and without a script."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from cear.reports.pages.axes import Axis, linear, logarithmic
from cear.reports.pages.drawing import (
    LINE,
    WIDTH,
    box,
    legend,
    mark,
    names_below,
    room_for,
    series_class,
    svg,
    vertical,
    write,
)
from cear.reports.pages.heat import heat_svg
from cear.reports.pages.markup import Markup, tag
from cear.reports.pages.page import Bars, Chart, Curve, Heat, is_empty
from cear.reports.pages.reading import NOT_RUN

HEIGHT = 260.0  # of the plot alone
FILLED = 0.8  # of the room of a name by its bars
OWN_TICKS = 10  # values of x that are marked themselves


def to_svg(chart: Chart, *, alone: bool = True) -> str:
    """A chart as an SVG file, or with `alone=False` as an element of a page that has the colours."""
    if is_empty(chart):
        return svg(chart.label, chart.title, NOT_RUN, LINE, [write(NOT_RUN, 0, LINE - 4, class_="name")], alone=alone)
    match chart:
        case Bars():
            return _bars_svg(chart, alone)
        case Curve():
            return _curve_svg(chart, alone)
        case Heat():
            return heat_svg(chart, alone)


def _bars_svg(chart: Bars, alone: bool) -> Markup:
    named, top = legend([*chart.series], box)
    values = [*chain.from_iterable(chart.series.values())]
    ends = (top + HEIGHT, top)
    y = logarithmic(values, *ends) if chart.log else linear(values, *ends, zero=True)
    left = room_for(y)
    names, below = names_below(chart.names, left, (WIDTH - left) / len(chart.names), top + HEIGHT)
    parts = [
        *named,
        *vertical(y, f"{chart.y}, logarithmic" if chart.log else chart.y, left, WIDTH),
        *_bars(chart, y, left),
        tag("line", class_="zero", x1=left, x2=WIDTH, y1=_floor(y), y2=_floor(y)),
        *names,
        _title_below(chart.x, left, below + LINE),
    ]
    about = f"Bars of {chart.y} by {chart.x}. {_highest(chart)}"
    return svg(chart.label, chart.title, about, below + LINE + 4, parts, alone=alone)


def _bars(chart: Bars, y: Axis, left: float) -> Iterator[Markup]:
    """A bar for each name and series; it says its value when it is pointed at."""
    room = (WIDTH - left) / len(chart.names)
    wide = room * FILLED / len(chart.series)
    for place, (series, values) in enumerate(chart.series.items()):
        for number, (name, value) in enumerate(zip(chart.names, values, strict=True)):
            ends = sorted((y.at(value), _floor(y)))
            yield tag(
                "rect",
                tag("title", f"{series}, {name}: {value:,.10g}"),
                class_=f"{series_class(place)} mark",
                x=left + number * room + room * (1 - FILLED) / 2 + place * wide,
                y=ends[0],
                width=wide,
                height=ends[1] - ends[0],
            )


def _floor(y: Axis) -> float:
    """Where bars begin."""
    return y.start if y.log else y.at(0)


def _curve_svg(chart: Curve, alone: bool) -> Markup:
    named, top = legend([*chart.series], mark)
    bottom = top + HEIGHT
    points = [*chain.from_iterable(chart.series.values())]
    y = linear([value for _, value in points], bottom, top, zero=False)
    left = room_for(y)
    x = _own_ticks({value for value, _ in points}, left + 12, WIDTH - 16)
    parts = [
        *named,
        *vertical(y, chart.y, left, WIDTH),
        tag("line", class_="zero", x1=left, x2=WIDTH, y1=bottom, y2=bottom),
        *_horizontal(x, bottom),
        *chain.from_iterable(_curve(chart, place, x, y) for place in range(len(chart.series))),
        _title_below(chart.x, left, bottom + 2 * LINE),
    ]
    about = f"Curves of {chart.y} over {chart.x}: {', '.join(chart.series)}."
    return svg(chart.label, chart.title, about, bottom + 2 * LINE + 4, parts, alone=alone)


def _own_ticks(values: set[float], start: float, end: float) -> Axis:
    """The x axis of a sweep: few values are marked themselves, many by round numbers."""
    if 1 < len(values) <= OWN_TICKS:
        return Axis(min(values), max(values), tuple(sorted(values)), start, end)
    return linear(values, start, end, zero=False)


def _horizontal(x: Axis, bottom: float) -> Iterator[Markup]:
    """The ticks of the x axis and their values."""
    for tick, label in zip(x.ticks, x.labels, strict=True):
        yield tag("line", class_="zero", x1=x.at(tick), x2=x.at(tick), y1=bottom, y2=bottom + 4)
        yield tag("text", label, x=x.at(tick), y=bottom + 17, text_anchor="middle")


def _curve(chart: Curve, place: int, x: Axis, y: Axis) -> Iterator[Markup]:
    """The line of a series and a mark at each of its points, which says its value when it is pointed at."""
    name, points = [*chart.series.items()][place]
    spots = [(x.at(each), y.at(value)) for each, value in sorted(points)]
    line = " ".join(f"{across:.2f},{down:.2f}" for across, down in spots)
    yield tag("polyline", class_=f"{series_class(place)} curve", points=line)
    for (each, value), spot in zip(sorted(points), spots, strict=True):
        yield mark(place, *spot, tag("title", f"{name}, {each:g}: {value:.4g}"))


def _title_below(title: str, left: float, y: float) -> Markup:
    """The title of an x axis."""
    return tag("text", title, class_="name", text_anchor="middle", x=(left + WIDTH) / 2, y=y)


def _highest(chart: Bars) -> str:
    """A sentence for each series: where it is highest."""
    places = {name: max(range(len(values)), key=values.__getitem__) for name, values in chart.series.items()}
    return " ".join(
        f"{name}: highest at {chart.names[place]}, {chart.series[name][place]:,.10g}." for name, place in places.items()
    )
