"""Pages as Markdown and LaTeX: what a cell is made of, and that names stay text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from cear.reports import Bars, Column, Curve, Entry, Page, Row, Table, to_latex, to_markdown
from cear.reports.pages import latex, markdown

COLUMNS = (Column("MRR", "WN18RR"), Column("H@1", "WN18RR", digits=1, percent=True))
ROWS = (
    Row("KG-BERT", (Entry(), Entry(paper="39"))),
    Row("A|B", (Entry(0.4751, 0.4621, 0.4881, paper=".47", link="r/a (1).json"), Entry(0.4331)), ours=True),
    Row("CEAR", (Entry(0.4, spread=0.002, seeds=3, note="2,500 facts"), Entry(0.443)), ours=True),
)
TABLE = Table("ckg", "Link prediction", COLUMNS, ROWS, ("Filtered.",))
CURVE = Curve("sweep", "k sweep", "k", "H@1", {"a": ((10, 0.3), (20, 0.4)), "b": ((10, 0.2),)})
NOT_RUN = Bars("later", "Not yet", "rank", "queries", (), {})
PAGE = Page("The study", ("About it.", "- and more"), (TABLE, CURVE, NOT_RUN))


def lines(text, start):
    return [line for line in text.splitlines() if line.startswith(start)]


def test_a_markdown_table_reads_so():
    assert lines(to_markdown(PAGE), "|") == [
        "|  | WN18RR MRR | WN18RR H@1, % |",
        "| --- | ---: | ---: |",
        "| KG-BERT | *not run here* | *not run here*<br>paper 39 |",
        r"| A\|B | **[.475](r/a%20%281%29.json)** (.462-.488)<br>paper .47 | 43.3 |",
        "| CEAR | .400 ± .002<br>2,500 facts | **44.3** |",
    ]


def test_markdown_shows_charts_as_files_and_says_what_was_not_run():
    text = to_markdown(PAGE)
    assert "## k sweep (`sweep`)\n\n![k sweep](figures/sweep.svg)\n" in text
    assert "## Not yet (`later`)\n\nnot run here\n" in text


def test_markdown_has_the_notes_and_a_paragraph_is_no_list():
    text = to_markdown(PAGE)
    assert "\n\nFiltered.\n" in text
    assert "\n\n\\- and more\n" in text


words = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1).filter(str.strip)


@given(words)
def test_any_name_is_text_in_a_paragraph_and_in_a_cell_of_markdown(name):
    """A reader of Markdown gives the name back, whatever signs it has."""
    reader = MarkdownIt().enable("table")
    plain = " ".join(name.split())
    assert _texts(reader, markdown.escaped(name)) == plain
    assert _texts(reader, f"| a |\n| --- |\n| {markdown.escaped(name)} |") == f"a{plain}"


def _texts(reader, source):
    tokens = [child for token in reader.parse(source) for child in token.children or []]
    assert {token.type for token in tokens} <= {"text", "text_special"}
    return "".join(token.content for token in tokens)


def test_a_latex_table_reads_so():
    text = to_latex(PAGE)
    begin, end = text.index(r"\toprule"), text.index(r"\bottomrule")
    small, cell = r"\\ \scriptsize ", r"\begin{tabular}[t]{@{}r@{}}"
    assert text[begin:end].splitlines() == [
        r"\toprule",
        r" & \multicolumn{2}{c}{WN18RR} \\",
        r"\cmidrule(lr){2-3}",
        r" & MRR & H@1, \% \\",
        r"\midrule",
        rf"KG-BERT & {{\scriptsize not run here}} & {cell}(\textit{{39}}){small}not run here\end{{tabular}} \\",
        rf"A\textbar{{}}B & {cell}\textbf{{\href{{r/a\%20\%281\%29.json}}{{.475}}}} (\textit{{.47}})"
        rf"{small}(.462–.488)\end{{tabular}} & 43.3 \\",
        rf"CEAR & {cell}.400{small}$\pm$ .002{small}2,500 facts\end{{tabular}} & \textbf{{44.3}} \\",
    ]


def test_latex_needs_two_packages_and_prints_the_numbers_of_a_chart():
    text = to_latex(PAGE)
    assert re.findall(r"\\usepackage.*\{(.*)\}", text) == ["booktabs", "hyperref"]
    assert "% The numbers of figures/sweep.svg" in text
    assert "10 & .300 & .200 \\\\\n20 & .400 & – \\\\" in text
    assert r"Not yet: \emph{not run here}." in text
    assert text.count(r"\begin{") == text.count(r"\end{")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("R&D_50%", r"R\&D\_50\%"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("a--b", "a-{}-b"),
        ("[a]*", "{[}a{]}{*}"),
        ("⟨s, r, o⟩ ± $1", r"$\langle$s, r, o$\rangle$ $\pm$ \$1"),
        ("x\n\ny", "x y"),
        ('~^#"<>', r"\textasciitilde{}\textasciicircum{}\#''\textless{}\textgreater{}"),
    ],
)
def test_a_name_is_text_in_latex(name, text):
    assert latex.escaped(name) == text


def test_a_negative_value_has_a_minus_in_latex():
    rows = (Row("gain", (Entry(-0.042, -0.05, 0.01),)),)
    text = to_latex(Page("p", (), (Table("t", "t", (Column("MRR"),), rows),)))
    assert r"$-$.042\\ \scriptsize ($-$.050 to .010)" in text
