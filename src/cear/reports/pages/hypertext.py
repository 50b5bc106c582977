"""A page as one file of HTML: styles and drawings inside, no script, nothing from the network, for screen and paper."""

from __future__ import annotations

from collections.abc import Sequence

from cear.reports.pages.charts import to_svg
from cear.reports.pages.links import address
from cear.reports.pages.markup import Markup, joined, tag
from cear.reports.pages.numbers import as_table
from cear.reports.pages.page import Chart, Column, Entry, Page, Part, Row, Table, is_empty
from cear.reports.pages.reading import NOT_RUN, best_of, groups, legend, reading
from cear.reports.pages.style import COLOURS, DRAWING, PAGE

POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # a browser fetches nothing, whatever a page says


def to_html(page: Page) -> str:
    """The page as a document of HTML."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("title", page.title),
        tag("style", Markup(COLOURS + DRAWING + PAGE)),
    )
    header = tag("header", tag("h1", page.title), *(tag("p", text) for text in page.about))
    main = tag("main", joined(*map(_section, page.parts), by="\n"))
    body = tag("body", joined(header, _contents(page), main, by="\n"))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _contents(page: Page) -> Markup:
    entries = (tag("li", tag("a", part.title, href=f"#{part.label}")) for part in page.parts)
    return tag("nav", tag("h2", "Contents"), tag("ol", *entries), aria_label="Contents")


def _section(part: Part) -> Markup:
    heading = tag("h2", part.title, " ", tag("span", part.label, class_="label"))
    return tag("section", heading, *(_tabled(part) if isinstance(part, Table) else [_drawn(part)]), id=part.label)


def _tabled(table: Table) -> list[Markup]:
    return [_scrolls(_table(table), table.title), *_notes([legend(table), *table.notes])]


def _drawn(chart: Chart) -> Markup:
    """A figure with the table of its numbers below, folded."""
    if is_empty(chart):
        return tag("figure", tag("p", NOT_RUN, class_="soft"), *_notes(chart.notes))
    title = f"{chart.title}: the numbers"
    numbers = as_table(chart)
    folded = tag("details", tag("summary", "The numbers"), _scrolls(_table(numbers, title), title))
    drawing = _scrolls(Markup(to_svg(chart, alone=False)), chart.title)
    return tag("figure", drawing, tag("figcaption", *_notes(chart.notes)), folded)


def _scrolls(inside: Markup, name: str) -> Markup:
    """A box that scrolls by itself when it is too narrow, also by the keys."""
    return tag("div", inside, class_="box", role="region", aria_label=name, tabindex="0")


def _notes(texts: Sequence[str]) -> list[Markup]:
    return [tag("p", text, class_="soft") for text in texts if text]


def _table(table: Table, caption: str | None = None) -> Markup:
    best = best_of(table)
    rows = (
        _row(table, row, {column for here, column in best if here == place}) for place, row in enumerate(table.rows)
    )
    body = tag("tbody", joined(*rows, by="\n"))
    return tag("table", tag("caption", caption or table.title), tag("thead", *_headings(table)), body)


def _headings(table: Table) -> list[Markup]:
    """The line of columns, below one of groups where there are any."""
    columns = (tag("th", column.heading, scope="col") for column in table.columns)
    spans = groups(table)
    if not spans:
        return [tag("tr", tag("td"), *columns)]
    over = (
        tag("th", name, scope="colgroup", colspan=count) if name else tag("td", colspan=count) for name, count in spans
    )
    return [tag("tr", tag("td", rowspan=2), *over), tag("tr", *columns)]


def _row(table: Table, row: Row, best: set[int]) -> Markup:
    cells = (
        _cell(entry, column, bold=place in best)
        for place, (entry, column) in enumerate(zip(row.entries, table.columns, strict=True))
    )
    label = tag("th", tag("bdi", row.label), scope="row")
    return tag("tr", label, *cells, class_="ours" if row.ours else None)


def _cell(entry: Entry, column: Column, *, bold: bool) -> Markup:
    """The value, which leads to its record, and below it smaller the interval, the paper's value and the note."""
    read = reading(entry, column)
    value = tag("b", read.value) if bold else joined(read.value)
    value = tag("a", value, href=address(entry.link)) if entry.link else value
    below = (read.around, f"paper {read.paper}" if read.paper else "", read.note)
    spans = (tag("span", text) for text in below if text)
    return tag("td", value, *spans, class_="missing" if read.missing else None, title=_unrounded(entry))


def _unrounded(entry: Entry) -> str | None:
    """What a cell says when it is pointed at."""
    if entry.value is None or entry.text is not None:
        return None
    interval = "" if entry.low is None else f"; 95 % interval {entry.low:.6g} to {entry.high:.6g}"
    spread = "" if entry.spread is None else f"; standard deviation {entry.spread:.6g} over {entry.seeds} seeds"
    return f"{entry.value:.6g}{interval}{spread}"
