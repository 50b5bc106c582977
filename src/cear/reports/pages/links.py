"""Addresses, from the page that names them."""

from __future__ import annotations

from urllib.parse import quote

from cear.reports.pages.page import Chart

FIGURES = "figures"  # the folder of charts, beside a page


def address(link: str) -> str:
    """A link without spaces, parentheses and quotes; what is quoted already stays.

    >>> address("results/a (b).json")
    'results/a%20%28b%29.json'
    """
    return quote(link, safe="/:?#&=+,;@%~")


def figure_path(chart: Chart) -> str:
    """The file of a chart, from the page that shows it."""
    return f"{FIGURES}/{chart.label}.svg"
