"""How entries of tables read, which of them are best, and what no page takes."""

import numpy as np
import pytest

from cear.core.errors import DataError
from cear.reports import Bars, Column, Curve, Entry, Heat, Page, Row, Table, reading
from cear.reports.pages.reading import best_of, groups, legend, number

MRR, HITS = Column("MRR"), Column("H@1", digits=1, percent=True)


def table(*rows, column=MRR):
    """A table of one column; a row is an entry, or an entry of somebody else in a list."""
    made = (Row("theirs", tuple(row)) if isinstance(row, list) else Row("ours", (row,), ours=True) for row in rows)
    return Table("ckg", "Link prediction", (column,), tuple(made))


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (0.4751, MRR, ".475"),
        (1.0, MRR, "1.000"),
        (-0.0421, MRR, "-.042"),
        (-0.0001, MRR, ".000"),
        (0.4221, HITS, "42.2"),
        (0.0061, HITS, "0.6"),
        (22713216, Column("parameters", digits=0), "22,713,216"),
        (10.5, MRR, "10.500"),
    ],
)
def test_a_value_is_rounded_and_loses_the_zero_before_its_point(value, column, text):
    assert number(value, column) == text


def test_an_entry_reads_with_its_interval_its_spread_and_the_papers_value():
    read = reading(Entry(0.4751, 0.4621, 0.4881, spread=0.0021, seeds=3, paper=".47", note="2,500 facts"), MRR)
    assert (read.value, read.around, read.paper, read.note) == (".475", "± .002 (.462-.488)", ".47", "2,500 facts")


def test_an_interval_with_a_negative_end_has_a_word_between_its_ends():
    assert reading(Entry(0.01, -0.01, 0.03), MRR).around == "(-.010 to .030)"


def test_percent_holds_for_intervals_and_spreads():
    assert reading(Entry(0.4221, 0.41, 0.43, spread=0.002, seeds=3), HITS).around == "± 0.2 (41.0-43.0)"


def test_what_was_not_run_says_so_and_keeps_the_papers_value():
    read = reading(Entry(paper="42.2"), HITS)
    assert (read.value, read.paper, read.missing) == ("not run here", "42.2", True)


def test_a_text_stands_in_the_place_of_a_value():
    read = reading(Entry(72000.0, text="20 hrs"), MRR)
    assert (read.value, read.missing) == ("20 hrs", False)


def test_the_best_is_the_highest_of_ours():
    assert best_of(table([Entry(0.9)], Entry(0.3), Entry(0.4), Entry())) == {(2, 0)}


def test_values_that_print_alike_are_equally_good():
    assert best_of(table(Entry(0.40001), Entry(0.40002), Entry(0.39))) == {(0, 0), (1, 0)}


def test_of_seconds_the_lowest_is_best_and_of_parameters_none():
    seconds, parameters = Column("s", best="lowest"), Column("n", best="none")
    assert best_of(table(Entry(9.0), Entry(7.0), column=seconds)) == {(1, 0)}
    assert best_of(table(Entry(9.0), Entry(7.0), column=parameters)) == set()


def test_one_value_is_not_the_best_of_anything():
    assert best_of(table([Entry(0.2)], Entry(0.4), Entry(0.9, text="n/a"))) == set()


def test_the_legend_says_what_the_table_has_and_no_more():
    assert legend(table(Entry(0.3))) == ""
    full = legend(table(Entry(0.3, 0.2, 0.4, spread=0.1, seeds=3), Entry(0.2, spread=0.1, seeds=2, paper=".5")))
    assert "95 % interval" in full
    assert "over 2 or 3 seeds" in full
    assert "paper prints" in full
    assert "Bold" in full


def test_neighbouring_columns_share_a_group():
    columns = tuple(Column("m", group) for group in ("A", "A", "B", "A"))
    assert groups(Table("t", "t", columns, ())) == [("A", 2), ("B", 1), ("A", 1)]
    assert groups(Table("t", "t", (MRR, HITS), ())) == []


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Entry(float("nan")), "not finite"),
        (lambda: Entry(0.5, low=0.4), "0.4 to None. Give both ends or none"),
        (
            lambda: Table("ckg", "t", (MRR, HITS), (Row("CEAR", (Entry(),)),)),
            "'CEAR' of table 'ckg' has 1 entries",
        ),
        (lambda: Table("../ckg", "t", (), ()), "label '../ckg' cannot name a file"),
        (lambda: Bars("b", "t", "x", "y", ("1", "2"), {"a": (1.0,)}), "'a' of figure 'b' has 1 values for 2 names"),
        (lambda: Bars("b", "t", "x", "y", ("1",), {"a": (-1.0,)}, log=True), "-1.0, which has no logarithm"),
        (lambda: Curve("c", "t", "x", "y", {"a": ((1.0, float("inf")),)}), "not finite"),
        (lambda: Heat("h", "t", ("a",), ("b", "c"), np.zeros((2, 1))), r"are \(2, 1\), its names \(1, 2\)"),
        (lambda: Page("p", (), (table(), table())), "2 parts of the page 'p' have the label 'ckg'"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_reason(make, says):
    with pytest.raises(DataError, match=says):
        make()
