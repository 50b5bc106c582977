r"""A page as a LaTeX document, of which one may take single tables: it needs `booktabs` and `hyperref`, no more.

LaTeX reads no SVG by itself, so a chart is the table of its numbers, with the name of its file in a comment. Letters
that pdfLaTeX does not have need LuaLaTeX or XeLaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cear.reports.pages.links import address, figure_path
from cear.reports.pages.numbers import as_table
from cear.reports.pages.page import Page, Part, Row, Table, is_empty
from cear.reports.pages.reading import NOT_RUN, Reading, best_of, groups, legend, reading

MANY = 12  # columns that no page of paper is wide enough for
LONG = 26  # letters of a label that needs several lines
_SPECIAL = str.maketrans(
    {character: rf"\{character}" for character in "{}$&#_%"}
    | {character: f"{{{character}}}" for character in "[]*"}  # after `\\` they would be its arguments
    | {
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': "''",
        "`": r"\textasciigrave{}",
    }
    | {
        "±": r"$\pm$",
        "×": r"$\times$",
        "−": "$-$",
        "⟨": r"$\langle$",
        "⟩": r"$\rangle$",
        "→": r"$\to$",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
    }
)
_HEAD = r"""\documentclass{article}
\usepackage{booktabs}
\usepackage[hidelinks]{hyperref}
\setlength{\textwidth}{16cm}\setlength{\oddsidemargin}{0cm}
\begin{document}
"""


def to_latex(page: Page) -> str:
    """The page as LaTeX: a `table` for each of its parts."""
    about = "\n\n".join(map(escaped, page.about))
    parts = "\n\n".join("\n".join(_part(part)) for part in page.parts)
    return f"{_HEAD}\\section*{{{escaped(page.title)}}}\n\n{about}\n\n{parts}\n\n\\end{{document}}\n"


def escaped(text: str) -> str:
    r"""A text of one line in which nothing is a command; hyphens do not grow together to a dash.

    >>> print(escaped("R&D_50% --"))
    R\&D\_50\% -{}-
    """
    return re.sub("-(?=-)", "-{}", " ".join(text.split()).translate(_SPECIAL))


def _part(part: Part) -> Iterator[str]:
    """The lines of a part."""
    if isinstance(part, Table):
        yield from _float(part)
    elif is_empty(part):
        yield rf"\noindent {escaped(part.title)}: \emph{{{NOT_RUN}}}."
    elif len((numbers := as_table(part)).columns) > MANY:
        yield rf"\noindent {escaped(part.title)}: drawn in \texttt{{{escaped(figure_path(part))}}}."
    else:
        yield f"% The numbers of {figure_path(part)}"
        yield from _float(numbers)


def _float(table: Table) -> Iterator[str]:
    yield r"\begin{table}[!htbp]"
    yield r"\centering\small\setlength{\tabcolsep}{4pt}"
    yield rf"\caption{{{escaped(table.title)}}}\label{{tab:{table.label}}}"
    yield rf"\begin{{tabular}}{{@{{}}l{'r' * len(table.columns)}@{{}}}}"
    yield r"\toprule"
    yield from _groups(table)
    yield _line(["", *(escaped(column.heading) for column in table.columns)])
    yield r"\midrule"
    best = best_of(table)
    for place, row in enumerate(table.rows):
        yield _row(table, row, {column for here, column in best if here == place})
    yield r"\bottomrule"
    yield r"\end{tabular}"
    told = [legend(table, paper="A number in italics is what the paper prints."), *table.notes]
    yield from (rf"\par\smallskip\footnotesize {escaped(text)}" for text in told if text)
    yield r"\end{table}"


def _groups(table: Table) -> Iterator[str]:
    """The line of groups above the columns, and a rule below each of them."""
    spans = groups(table)
    if not spans:
        return
    yield _line(["", *(rf"\multicolumn{{{count}}}{{c}}{{{escaped(name)}}}" for name, count in spans)])
    first, rules = 2, ""
    for name, count in spans:
        rules += rf"\cmidrule(lr){{{first}-{first + count - 1}}}" if name else ""
        first += count
    yield rules


def _row(table: Table, row: Row, best: set[int]) -> str:
    cells = (
        _cell(reading(entry, column), entry.link, bold=place in best)
        for place, (entry, column) in enumerate(zip(row.entries, table.columns, strict=True))
    )
    return _line([_label(row.label), *cells])


def _cell(read: Reading, link: str | None, *, bold: bool) -> str:
    """The value with the paper's, and below them smaller the spread, the interval and the note."""
    interval = re.sub(r"(?<=\d)-", "–", read.interval)
    below = [_figures(read.spread), _figures(interval), escaped(read.note)]
    if read.missing and read.paper:  # too long to stand beside it
        below.insert(0, read.value)
    lines = [_value(read, link, bold=bold), *(rf"\scriptsize {text}" for text in below if text)]
    return lines[0] if len(lines) == 1 else r"\begin{tabular}[t]{@{}r@{}}" + r"\\ ".join(lines) + r"\end{tabular}"


def _label(label: str) -> str:
    """The name of a row; a long one in several lines."""
    return escaped(label) if len(label) <= LONG else rf"\parbox[t]{{3.6cm}}{{\raggedright {escaped(label)}}}"


def _value(read: Reading, link: str | None, *, bold: bool) -> str:
    r"""`\textbf{\href{record.json}{.475}} (\textit{.47})`; beside the paper's, “not run here” stands below."""
    paper = rf"(\textit{{{escaped(read.paper)}}})" if read.paper else ""
    if read.missing:
        return paper or rf"{{\scriptsize {read.value}}}"
    value = _figures(read.value)
    value = rf"\href{{{_address(link)}}}{{{value}}}" if link else value
    value = rf"\textbf{{{value}}}" if bold else value
    return f"{value} {paper}".rstrip()


def _figures(text: str) -> str:
    """Numbers, with a minus before what is negative."""
    return escaped(re.sub(r"(?<!\w)-(?=[.\d])", "−", text))


def _address(link: str) -> str:
    r"""A link as an argument of `\href`."""
    return re.sub(r"([%#&])", r"\\\1", address(link))


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
