"""Pages as HTML: one file that needs nothing else, and that a screen reader can walk through. And pages on disk."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from cear.reports import Bars, Column, Curve, Entry, Heat, Page, Row, Table, to_html, write_page
from cear.reports.pages.markup import Markup, tag

HOSTILE = '<script src="https://example.org/x.js"></script> & "q"'
COLUMNS = (Column("MRR", "FB15K-237"), Column("MRR", "WN18RR"), Column("queries", digits=0, best="none"))
ROWS = (
    Row(HOSTILE, (Entry(paper="0.24"), Entry(text="20 hrs"), Entry())),
    Row("Stage 1", (Entry(0.3, 0.2, 0.4), Entry(0.4), Entry(100)), ours=True),
    Row("CEAR", (Entry(0.35, link="r/a b.json", spread=0.01, seeds=3), Entry(0.3), Entry(100)), ours=True),
)
PARTS = (
    Table("ckg", "Link prediction", COLUMNS, ROWS, (HOSTILE,)),
    Bars("ranks", "Ranks", "rank", "queries", ("1", "2"), {HOSTILE: (3.0, 1.0)}),
    Curve("sweep", "k sweep", "k", "H@1", {"a": ((10, 0.3), (20, 0.4))}),
    Heat("attention", "Attention", ("q",), ("a", "b"), np.array([[0.25, 0.75]])),
    Bars("later", "Not yet", "rank", "queries", (), {}),
)
PAGE = Page("The study", (HOSTILE,), PARTS)


@pytest.fixture(scope="module")
def root():
    """The document; it is written so that XML can be read from it, too."""
    text = to_html(PAGE)
    assert text.startswith("<!doctype html>\n")
    return ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", text.removeprefix("<!doctype html>\n")))


def said(element):
    return " ".join("".join(element.itertext()).split())


def cells(root):
    """The cells of the first table, row by row."""
    return [[*row] for row in root.find(".//section[@id='ckg']//tbody")]


def test_names_are_text(root):
    assert root.findall(".//script") == []
    assert said(cells(root)[0][0]) == HOSTILE
    assert said(root.find(".//header/p")) == HOSTILE


def test_nothing_is_fetched(root):
    fetched = [each.get(key) for each in root.iter() for key in ("src", "srcset", "data", "poster") if each.get(key)]
    assert (fetched, [*root.iter("link"), *root.iter("img"), *root.iter("iframe")]) == ([], [])
    policy = root.find(".//meta[@http-equiv='Content-Security-Policy']").get("content")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    styles = "".join(each.text for each in root.iter("style"))
    assert not re.search(r"url\(|@import", styles)


def test_the_contents_lead_to_every_part(root):
    links = [each.get("href") for each in root.findall(".//nav//a")]
    assert links == [f"#{part.label}" for part in PARTS]
    assert [each.get("id") for each in root.findall(".//section")] == [part.label for part in PARTS]


def test_ids_are_unique(root):
    ids = [each.get("id") for each in root.iter() if each.get("id")]
    assert len(ids) == len(set(ids))


def test_a_cell_shows_its_interval_and_the_papers_value(root):
    first, second, third = cells(root)
    assert said(first[1]) == "not run herepaper 0.24"
    assert first[1].get("class") == "missing"
    assert (said(first[2]), first[2].get("class")) == ("20 hrs", None)
    assert said(second[1]) == ".300(.200-.400)"
    assert second[1].get("title") == "0.3; 95 % interval 0.2 to 0.4"
    assert third[1].get("title") == "0.35; standard deviation 0.01 over 3 seeds"


def test_the_best_of_ours_is_bold_and_leads_to_its_record(root):
    _, second, third = cells(root)
    assert [said(each) for each in root.findall(".//section[@id='ckg']//b")] == [".400", ".350"]
    assert third[1].find("a").get("href") == "r/a%20b.json"
    assert second[2].find("b") is not None


def test_tables_have_captions_and_headers_with_a_scope(root):
    assert said(root.find(".//section[@id='ckg']//caption")) == "Link prediction"
    assert len([*root.iter("caption")]) == len([*root.iter("table")]) == 4  # one, and the numbers of three charts
    assert all(each.get("scope") for each in root.iter("th"))
    over = root.findall(".//section[@id='ckg']//th[@scope='colgroup']")
    assert [(said(each), each.get("colspan")) for each in over] == [("FB15K-237", "1"), ("WN18RR", "1")]


def test_what_may_scroll_can_be_reached_by_keys_and_has_a_name(root):
    boxes = root.findall(".//div[@class='box']")
    assert all(each.get("tabindex") == "0" and each.get("aria-label") for each in boxes)
    inside = {child for each in boxes for child in each}
    assert {*root.iter("table"), *root.iter("svg")} <= inside


def test_a_chart_comes_with_its_numbers_and_one_that_was_not_run_says_so(root):
    numbers = root.findall(".//section[@id='sweep']//tbody/tr")
    assert [[said(cell) for cell in row] for row in numbers] == [["10", ".300"], ["20", ".400"]]
    assert said(root.find(".//section[@id='later']/figure")) == "not run here"


def test_both_colour_schemes_and_paper_are_thought_of(root):
    styles = root.find(".//style").text
    assert "prefers-color-scheme: dark" in styles
    assert "@media print" in styles


def test_an_element_escapes_what_is_not_markup():
    assert tag("p", "a<b", Markup("<br/>"), title='"', class_=None) == '<p title="&quot;">a&lt;b<br/></p>'


def test_a_page_is_written_whole_and_the_same_each_time(tmp_path):
    paths = write_page(tmp_path, PAGE, name="study")
    first = [path.read_bytes() for path in paths]
    assert sorted(path.relative_to(tmp_path).as_posix() for path in paths) == [
        "figures/attention.svg",
        "figures/ranks.svg",
        "figures/sweep.svg",
        "study.html",
        "study.md",
        "study.tex",
    ]
    assert [path.read_bytes() for path in write_page(tmp_path, PAGE, name="study")] == first
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(paths)  # nothing half-written
