"""What all charts are made of: texts that fit, a frame with its axes, a legend, marks, and the SVG around them.

Colours are classes (`style`), so that one drawing is legible on light and on dark paper. A series is told by its colour
and by the shape of its mark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, radians, sin
from unicodedata import east_asian_width

from cear.reports.pages.axes import Axis
from cear.reports.pages.markup import Markup, joined, tag
from cear.reports.pages.style import COLOURS, DRAWING, SERIES

WIDTH = 640.0
EDGE = 8.0  # of paper around a drawing
LINE = 18.0  # from one line of text to the next
EM = 12.0  # the size of a letter
LEGEND = 60  # letters of a name in a legend
SLANT = 40  # degrees
SHAPES = ("circle", "square", "diamond", "triangle")


def width_of(text: str) -> float:
    """About how wide a text is drawn: no font is asked."""
    return EM * sum(1.0 if east_asian_width(each) in "WF" else 0.58 for each in text)


def shortened(text: str, letters: int = 22) -> str:
    """A text with at most so many letters."""
    return text if len(text) <= letters else text[: letters - 1].rstrip() + "…"


def write(text: str, x: float, y: float, *, letters: int = 22, **attributes: str | float | None) -> Markup:
    """A text at a place; one that has to be shortened says the whole when it is pointed at."""
    shown = shortened(text, letters)
    whole = [tag("title", text)] if shown != text else []
    return tag("text", shown, *whole, x=x, y=y, **attributes)


def names_below(names: Sequence[str], left: float, room: float, bottom: float) -> tuple[list[Markup], float]:
    """The names of things that stand side by side, below them, and where there is room again.

    They are level if all fit, else slanted, upright, or left out except every n-th. Numbers are never turned: who reads
    1, 3, 5 knows what is between.
    """
    middles = [left + (place + 0.5) * room for place in range(len(names))]
    widest = max(width_of(shortened(name)) for name in names)
    if widest + 4 <= room or all(map(_is_number, names)):
        every = ceil((widest + 4) / room)
        level = [write(name, x, bottom + 16, text_anchor="middle") for name, x in zip(names, middles, strict=True)]
        return level[::every], bottom + LINE
    angle = SLANT if room >= EM / sin(radians(SLANT)) else 90
    every = ceil(EM / room)
    turned = [_turned(name, x + 4, bottom + 10, angle) for name, x in zip(names, middles, strict=True)]
    return turned[::every], bottom + widest * sin(radians(angle)) + LINE


def _turned(text: str, x: float, y: float, angle: float) -> Markup:
    """A text that ends at a place and rises towards it."""
    return write(text, x, y, text_anchor="end", transform=f"rotate({-angle} {x:.2f} {y:.2f})")


def _is_number(name: str) -> bool:
    return name.replace(".", "", 1).replace(",", "").isdecimal()


def series_class(place: int) -> str:
    """The class that colours a series."""
    return f"s{place % SERIES}"


def mark(place: int, x: float, y: float, *children: str) -> Markup:
    """The mark of a series around a point."""
    shape, kind = SHAPES[place % len(SHAPES)], f"{series_class(place)} mark"
    if shape == "circle":
        return tag("circle", *children, class_=kind, cx=x, cy=y, r=4)
    corners = {
        "square": ((-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)),
        "diamond": ((0, -5), (5, 0), (0, 5), (-5, 0)),
        "triangle": ((0, -5), (4.6, 3.6), (-4.6, 3.6)),
    }[shape]
    points = " ".join(f"{x + dx:.2f},{y + dy:.2f}" for dx, dy in corners)
    return tag("polygon", *children, class_=kind, points=points)


def box(place: int, x: float, y: float) -> Markup:
    """The mark of a series of bars."""
    return tag("rect", class_=f"{series_class(place)} mark", x=x - 5, y=y - 5, width=10, height=10)


def legend(names: Sequence[str], drawn: Callable[[int, float, float], Markup]) -> tuple[list[Markup], float]:
    """The marks of all series with their names, in as many lines as they need, and the height of these."""
    parts: list[Markup] = []
    x, line = 0.0, 1
    for place, name in enumerate(names):
        wide = width_of(shortened(name, LEGEND)) + 40
        if x and x + wide > WIDTH:
            x, line = 0.0, line + 1
        parts += [drawn(place, x + 8, line * LINE - 8), write(name, x + 20, line * LINE - 4, letters=LEGEND)]
        x += wide
    return parts, line * LINE + 12


def vertical(axis: Axis, title: str, left: float, right: float) -> Iterator[Markup]:
    """The y axis: a line across the plot for each tick, its value, and the title on its side."""
    for tick, label in zip(axis.ticks, axis.labels, strict=True):
        y = axis.at(tick)
        yield tag("line", class_="grid", x1=left, x2=right, y1=y, y2=y)
        yield tag("text", label, x=left - 6, y=y + 4, text_anchor="end")
    middle = (axis.start + axis.end) / 2
    yield tag(
        "text", title, class_="name", text_anchor="middle", x=12, y=middle, transform=f"rotate(-90 12 {middle:.2f})"
    )


def room_for(axis: Axis) -> float:
    """What a y axis needs on its left: the widest value and the title."""
    return max(map(width_of, axis.labels)) + 30


def svg(label: str, title: str, about: str, height: float, parts: Sequence[str], *, alone: bool) -> Markup:
    """A drawing with its name and description; one that stands alone brings its colours and its paper."""
    style = [tag("style", Markup(COLOURS + DRAWING)), _paper(height)]
    return tag(
        "svg",
        tag("title", title, id=f"{label}-title"),
        tag("desc", about, id=f"{label}-desc"),
        *(style if alone else []),
        joined(*parts, by="\n"),
        xmlns="http://www.w3.org/2000/svg",
        class_="chart",
        viewBox=f"{-EDGE:.0f} {-EDGE:.0f} {WIDTH + 2 * EDGE:.0f} {height + 2 * EDGE:.0f}",
        width=WIDTH + 2 * EDGE if alone else None,  # on a page the style says
        height=height + 2 * EDGE if alone else None,
        role="img",
        aria_labelledby=f"{label}-title {label}-desc",
    )


def _paper(height: float) -> Markup:
    return tag("rect", class_="paper", x=-EDGE, y=-EDGE, width=WIDTH + 2 * EDGE, height=height + 2 * EDGE)
