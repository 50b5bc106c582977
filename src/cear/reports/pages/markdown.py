"""A page as Markdown of GitHub: tables of pipes, charts as files beside the page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cear.reports.pages.links import address, figure_path
from cear.reports.pages.page import Column, Entry, Page, Part, Table, is_empty
from cear.reports.pages.reading import NOT_RUN, best_of, legend, reading

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&])")
_BEGINS_BLOCK = re.compile(r"^(\d*)([-+](?=[-\s]|$)|(?<=\d)[.)](?=\s|$))")  # a list or a rule


def to_markdown(page: Page) -> str:
    """The page as Markdown; its charts are the files `figures/LABEL.svg`."""
    parts = ("\n".join(_part(part)) for part in page.parts)
    return "\n\n".join([f"# {escaped(page.title)}", *map(escaped, page.about), *parts]) + "\n"


def escaped(text: str) -> str:
    r"""A text of one line in which nothing is Markdown.

    >>> print(escaped("a|b *c*"), escaped("- d"))
    a\|b \*c\* \- d
    """
    line = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return _BEGINS_BLOCK.sub(r"\1\\\2", line)


def _part(part: Part) -> list[str]:
    heading = f"## {escaped(part.title)} (`{part.label}`)"
    if isinstance(part, Table):
        return [heading, "", *_table(part), *_paragraphs([legend(part), *part.notes])]
    shown = NOT_RUN if is_empty(part) else f"![{escaped(part.title)}]({figure_path(part)})"
    return [heading, "", shown, *_paragraphs(part.notes)]


def _table(table: Table) -> list[str]:
    best = best_of(table)
    rows = [
        [
            escaped(row.label),
            *(
                _cell(entry, column, bold=(place, number) in best)
                for number, (entry, column) in enumerate(zip(row.entries, table.columns, strict=True))
            ),
        ]
        for place, row in enumerate(table.rows)
    ]
    headings = [escaped(f"{column.group} {column.heading}") for column in table.columns]
    lines = (["", *headings], ["---", *["---:"] * len(headings)], *rows)
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def _cell(entry: Entry, column: Column, *, bold: bool) -> str:
    """`**[.475](record.json)** (.462-.488)`, and on lines below what the paper prints and the note."""
    read = reading(entry, column)
    value = escaped(read.value)
    value = f"*{value}*" if read.missing else value
    value = f"[{value}]({address(entry.link)})" if entry.link else value
    first = " ".join(filter(None, (f"**{value}**" if bold else value, read.around)))
    below = [f"paper {escaped(read.paper)}" if read.paper else "", escaped(read.note)]
    return "<br>".join(filter(None, (first, *below)))


def _paragraphs(texts: Sequence[str]) -> list[str]:
    """Each text after an empty line."""
    return [line for text in texts if text for line in ("", escaped(text))]
