"""Heat maps as SVG: a shade for each value, and the value itself where there is room for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cear.reports.pages.drawing import LINE, WIDTH, names_below, shortened, svg, width_of, write
from cear.reports.pages.markup import Markup, tag
from cear.reports.pages.page import Column, Heat
from cear.reports.pages.reading import number

MOST = 44.0  # the widest cell
ROOM_FOR_VALUE = 30.0  # cells that are wider say their value
SHADES = 5  # of the scale above the map
PRINTED = Column("value", digits=2)


def heat_svg(chart: Heat, alone: bool) -> Markup:
    """A heat map: rows downwards, columns to the right, names on the left and below."""
    left = max(width_of(shortened(name)) for name in chart.rows) + 10
    wide = min(MOST, (WIDTH - left) / len(chart.columns))
    tall = max(min(wide, 26.0), 14.0)  # a line of text
    top = LINE + 8
    bottom = top + tall * len(chart.rows)
    under, below = names_below(chart.columns, left, wide, bottom)
    names = (write(name, left - 6, top + (n + 0.5) * tall + 4, text_anchor="end") for n, name in enumerate(chart.rows))
    size = {"x": left, "y": top, "width": wide * len(chart.columns), "height": bottom - top}
    parts = [*_scale(chart, left), *_cells(chart, left, top, wide, tall), tag("rect", class_="frame", **size)]
    return svg(chart.label, chart.title, _about(chart), below, [*parts, *names, *under], alone=alone)


def _range(chart: Heat) -> tuple[float, float]:
    """The values without a shade and with the full one."""
    low, high = min(float(chart.values.min()), 0.0), float(chart.values.max())
    return low, high if high > low else low + 1.0


def _cells(chart: Heat, left: float, top: float, wide: float, tall: float) -> Iterator[Markup]:
    low, high = _range(chart)
    for (row, column), value in np.ndenumerate(chart.values):
        x, y = left + column * wide, top + row * tall
        whole = tag("title", f"{chart.rows[row]}, {chart.columns[column]}: {value:.3g}")
        shade = (float(value) - low) / (high - low)
        yield tag("rect", whole, class_="heat", x=x, y=y, width=wide, height=tall, fill_opacity=shade)
        if wide >= ROOM_FOR_VALUE:
            yield tag("text", number(float(value), PRINTED), x=x + wide / 2, y=y + tall / 2 + 4, text_anchor="middle")


def _scale(chart: Heat, left: float) -> Iterator[Markup]:
    """What shades mean, above the map."""
    low, high = (number(each, PRINTED) for each in _range(chart))
    start = left + width_of(low) + 6
    yield tag("text", low, class_="name", x=left, y=12)
    for place in range(SHADES):
        shade = place / (SHADES - 1)
        yield tag("rect", class_="heat", x=start + place * 16, y=2, width=16, height=12, fill_opacity=shade)
    yield tag("rect", class_="frame", x=start, y=2, width=16 * SHADES, height=12)
    yield tag("text", high, class_="name", x=start + 16 * SHADES + 6, y=12)


def _about(chart: Heat) -> str:
    row, column = np.unravel_index(int(chart.values.argmax()), chart.values.shape)
    return (
        f"Values of {len(chart.rows)} rows and {len(chart.columns)} columns; the highest, {chart.values.max():.3g}, "
        f"is that of {chart.rows[row]} and {chart.columns[column]}."
    )
