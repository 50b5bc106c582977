"""A page on disk: Markdown, LaTeX, HTML, and the charts that the first of them shows."""

from __future__ import annotations

from pathlib import Path

from cear.core.files import replacing
from cear.reports.pages.charts import to_svg
from cear.reports.pages.hypertext import to_html
from cear.reports.pages.latex import to_latex
from cear.reports.pages.links import figure_path
from cear.reports.pages.markdown import to_markdown
from cear.reports.pages.page import Page, Table, is_empty


def write_page(folder: Path, page: Page, *, name: str = "report") -> list[Path]:
    """Write `NAME.md`, `NAME.tex`, `NAME.html` and `figures/LABEL.svg` for each chart; the files, charts first."""
    charts = [part for part in page.parts if not isinstance(part, Table) and not is_empty(part)]
    texts = {figure_path(chart): to_svg(chart) for chart in charts}  # first, for the page shows them
    texts |= {f"{name}.md": to_markdown(page), f"{name}.tex": to_latex(page), f"{name}.html": to_html(page)}
    for path, text in texts.items():
        with replacing(folder / path) as partial:
            partial.write_text(text, encoding="utf-8", newline="\n")
    return [folder / path for path in texts]
