"""Tables and charts as Markdown, LaTeX and one self-contained file of HTML."""

from cear.reports.pages.charts import to_svg
from cear.reports.pages.hypertext import to_html
from cear.reports.pages.latex import to_latex
from cear.reports.pages.markdown import to_markdown
from cear.reports.pages.page import Bars, Chart, Column, Curve, Entry, Heat, Page, Part, Row, Table
from cear.reports.pages.reading import Reading, reading
from cear.reports.pages.writing import write_page

__all__ = [
    "Bars",
    "Chart",
    "Column",
    "Curve",
    "Entry",
    "Heat",
    "Page",
    "Part",
    "Reading",
    "Row",
    "Table",
    "reading",
    "to_html",
    "to_latex",
    "to_markdown",
    "to_svg",
    "write_page",
]
