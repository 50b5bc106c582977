"""Text tables: the fast way and the slow way agree, and every bad line is found."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cear.core.errors import DataError
from cear.data.lines import LINE, Shape, read_line_by_line
from cear.data.tables import read_table

SHAPE = Shape(("subject", "relation", "object"))

fields = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r\0\ufeff"), min_size=1, max_size=8).filter(
    lambda text: text.strip() != ""
)
tables = st.lists(st.tuples(fields, fields, fields), min_size=1, max_size=8)


def _file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "facts.tsv"
    path.write_bytes(content)
    return path


@given(rows=tables, end=st.sampled_from(["\n", "\r\n"]), last=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_what_is_written_is_read_by_both_ways(
    tmp_path: Path, rows: list[tuple[str, str, str]], end: str, last: bool
) -> None:
    text = end.join("\t".join(row) for row in rows) + (end if last else "")
    path = _file(tmp_path, text.encode())
    expected = [(line, *row) for line, row in enumerate(rows, start=1)]
    assert read_table(path, SHAPE).rows.select(LINE, *SHAPE.columns).rows() == expected
    slow, bad = read_line_by_line(path, SHAPE)
    assert slow.select(LINE, *SHAPE.columns).rows() == expected
    assert bad == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"a\tb", r"found 2 columns \['a', 'b'\], expected 3 columns \(subject, relation, object\) parted by tabs"),
        (b"a b c", "found 1 columns"),
        (b"a\tb\tc\td", "found 4 columns"),
        (b"a\t\tc", "the relation is empty in"),
        (b"a\tb\t", "the object is empty in"),
        (b"a\tb\xff\tc", r"byte 4 of the line is not UTF-8 \(0xff\)"),
    ],
)
@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_bad_line_is_named_and_can_be_skipped(tmp_path: Path, line: bytes, problem: str, place: int) -> None:
    lines = [b"s\tr\to", b"", b"t\tr\tu"]
    lines.insert(place - 1, line)
    path = _file(tmp_path, b"\n".join(lines) + b"\n")
    with pytest.raises(DataError, match=rf"facts\.tsv:{place}: {problem}.*skip_bad_lines"):
        read_table(path, SHAPE)
    table = read_table(path, SHAPE, skip_bad_lines=True)
    assert table.rows["subject"].to_list() == ["s", "t"]
    assert [bad.line for bad in table.skipped] == [place]


def test_the_error_says_how_many_more_there_are(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="2 more lines have problems"):
        read_table(_file(tmp_path, b"a\nb\nc\n"), SHAPE)


def test_blank_lines_and_a_byte_order_mark_do_not_count(tmp_path: Path) -> None:
    table = read_table(_file(tmp_path, b"\xef\xbb\xbfa\tb\tc\n\n  \nd\te\tf\n\n"), SHAPE)
    assert table.rows.select(LINE, "subject").rows() == [(1, "a"), (4, "d")]


def test_quotes_are_letters_in_a_tsv_file(tmp_path: Path) -> None:
    table = read_table(_file(tmp_path, b'"a\tb\t5" disk\n'), SHAPE)
    assert table.rows.select(SHAPE.columns).rows() == [('"a', "b", '5" disk')]


def test_a_bad_line_of_a_csv_file_is_named_by_where_it_starts(tmp_path: Path) -> None:
    path = _file(tmp_path, b'"a, b",r,"two\nlines"\nc,r\nd,r,e\n')
    shape = Shape(SHAPE.columns, separator=",", quoted=True)
    with pytest.raises(DataError, match=r"facts\.tsv:3: found 2 columns"):
        read_table(path, shape)
    rows = read_table(path, shape, skip_bad_lines=True).rows
    assert rows.select(SHAPE.columns).rows() == [("a, b", "r", "two\nlines"), ("d", "r", "e")]


def test_a_path_may_hold_brackets(tmp_path: Path) -> None:
    folder = tmp_path / "data[1]*"
    folder.mkdir()
    assert read_table(_file(folder, b"a\tb\tc\n"), SHAPE).rows.height == 1


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no file .*nothing\.tsv"):
        read_table(tmp_path / "nothing.tsv", SHAPE)


def test_a_tab_between_spaces_parts_columns_too(tmp_path: Path) -> None:
    path = _file(tmp_path, b"a b c\nd e\tf g\nh\ti j\n")
    table = read_table(path, Shape(SHAPE.columns, separator=" "), skip_bad_lines=True)
    assert table.rows["subject"].to_list() == ["a", "h"]
    assert [str(bad).partition(".tsv:")[2][:18] for bad in table.skipped] == ["2: found 4 columns"]
