"""CSV: what quotes mean, and what a stray one costs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cear.core.errors import DataError
from cear.data import read
from cear.data.lines import LINE, Shape, read_line_by_line
from cear.data.quoting import LONGEST, split_quoted
from cear.data.tables import read_table

COMMAS = Shape(("subject", "relation", "object"), separator=",", quoted=True)
UNCLOSED = "a quote stands here that is not closed, or not where a field ends"


def _file(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "facts.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _lines(count: int) -> list[str]:
    return [f"s{i % 50},r,o{i}" for i in range(count)]


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("a,b,c", ["a", "b", "c"]),
        ('"a,b",,""', ["a,b", "", ""]),
        ('"say ""a""","""",c', ['say "a"', '"', "c"]),
        ('5" disk,the "big" one, "x"', ['5" disk', 'the "big" one', ' "x"']),
        ('"two\nlines",b', ["two\nlines", "b"]),
        ('"a,b,c', None),
        ('"a"b,c', None),
        ('""a,b', None),
        ('a,"', None),
    ],
)
def test_the_fields_of_a_record(line: str, fields: list[str] | None) -> None:
    assert split_quoted(line, ",") == fields


@pytest.mark.parametrize("place", [0, 24_999, 49_999])
@pytest.mark.parametrize(
    "stray", ['"Paris,in,France', 'Paris,in,"France', 'Paris,"in" the,France"', 'Paris,"in,France']
)
def test_a_stray_quote_is_named_and_costs_its_line_only(tmp_path: Path, stray: str, place: int) -> None:
    lines = _lines(50_000)
    lines[place] = stray
    path = _file(tmp_path, "\n".join(lines) + "\n")
    with pytest.raises(DataError, match=rf"facts\.csv:{place + 1}: {UNCLOSED}.*skip_bad_lines") as raised:
        read_table(path, COMMAS)
    assert "more lines have problems" not in str(raised.value)
    table = read_table(path, COMMAS, skip_bad_lines=True)
    assert table.rows.height == 49_999
    assert [bad.line for bad in table.skipped] == [place + 1]


@pytest.mark.parametrize("later", ['"Washington, D.C.",in,US', 'x,"a ""b""",o', 'x,5",o', 'x,r,o"'])
def test_a_later_quote_does_not_close_a_stray_one(tmp_path: Path, later: str) -> None:
    path = _file(tmp_path, "\n".join(['"Paris,in,France', *_lines(1_000), later, *_lines(3)]))
    table = read_table(path, COMMAS, skip_bad_lines=True)
    assert [bad.line for bad in table.skipped] == [1]
    assert table.rows.height == 1_004


@pytest.mark.parametrize("line", ['a","b', '"a,b,c', '"a', '",', ',"', '"""', 'a,"b""'])
def test_stray_quotes_in_every_line_are_told_one_by_one(tmp_path: Path, line: str) -> None:
    count = 20_000  # were a line read again for every quote before it, this would take hours
    path = _file(tmp_path, f"s,r,o\n{line}\n" + f"{line}\n" * (count - 1))
    with pytest.raises(DataError, match=r"facts\.csv:2: "):
        read_table(path, COMMAS)
    rows = read_table(path, COMMAS, skip_bad_lines=True).rows
    assert rows[LINE].to_list() == [1]


def test_a_record_of_several_lines_is_a_record(tmp_path: Path) -> None:
    path = _file(tmp_path, 'a,r,"one\n\n""two"", three"\r\nb,"r\nr",c\n')
    rows = read_table(path, COMMAS).rows
    assert rows.rows() == [(1, "a", "r", 'one\n\n"two", three'), (4, "b", "r\nr", "c")]


def test_a_record_of_several_lines_has_a_bounded_length(tmp_path: Path) -> None:
    path = _file(tmp_path, f'a,r,"{"x" * LONGEST}\ny"\nb,r,c\nd,r,"{"x" * LONGEST}"\n')
    table = read_table(path, COMMAS, skip_bad_lines=True)
    assert table.rows["subject"].to_list() == ["b", "d"]  # in one line there is no bound
    assert [bad.line for bad in table.skipped] == [1, 2]


def test_bytes_that_are_not_utf8_do_not_hide_in_quotes(tmp_path: Path) -> None:
    table = read_table(_file(tmp_path, b'a,r,"b\n\xff\nc"\nd,r,e\n'), COMMAS, skip_bad_lines=True)
    assert table.rows["subject"].to_list() == ["d"]
    assert [(bad.line, bad.problem[:12]) for bad in table.skipped] == [
        (1, UNCLOSED[:12]),
        (2, "byte 1 of th"),
        (3, "found 1 colu"),
    ]


def test_a_line_of_separators_is_blank(tmp_path: Path) -> None:
    table = read_table(_file(tmp_path, "a,r,b\n,,\n\n , ,\nc,r,d\n"), COMMAS)
    assert table.rows[LINE].to_list() == [1, 5]


pieces = st.sampled_from(
    ['"', '""', ",", "\n", "\r", "\r\n", "a", "b", " ", "\x1c", "é", ",r,", '",', ',"', "\ufeff", "\xa0"]
)


@given(content=st.lists(pieces, max_size=24).map("".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
def test_the_fast_and_the_slow_way_agree_on_anything(tmp_path: Path, content: str) -> None:
    path = _file(tmp_path, content)
    for shape in (COMMAS, Shape(COMMAS.columns, separator=",")):
        slow, bad = read_line_by_line(path, shape)
        either = read_table(path, shape, skip_bad_lines=True)
        assert either.rows.select(slow.columns).rows() == slow.rows()
        assert list(either.skipped) == bad


@pytest.mark.parametrize("between", [";", "\t", "|", ","])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_other_separators_are_found(write: Callable[..., Path], between: str, order: tuple[int, ...]) -> None:
    lines = [
        ["Washington, D.C.", "is, in fact, in", "US, America"],
        ["Paris", "in", "France"],
        ["Lyon", "in", "France"],
    ]
    if between == ",":
        lines[0] = [f'"{field}"' for field in lines[0]]
    if order != (0, 1, 2):
        lines.insert(0, ["subject", "relation", "object"])
    content = "".join(between.join(line[place] for place in order) + "\n" for line in lines)
    kb = read(write({"facts.csv": content}) / "facts.csv").kb
    assert set(kb.relations.table["name"]) == {"is, in fact, in", "in"}


def test_columns_beside_those_of_a_fact_are_left_out_and_counted(write: Callable[..., Path]) -> None:
    content = "id,Subject,weight,object,relation,note\n1,Paris,.5,France,in,\n2,Lyon,,France,in,x\n"
    report = read(write({"facts.csv": content}) / "facts.csv").report
    assert report.left_out == {"columns beside subject, relation and object": 3}


def test_a_line_may_leave_out_columns_that_nobody_asks_for_at_its_end(write: Callable[..., Path]) -> None:
    content = "subject,weight,relation,object,note\nParis,,in,France,x\nLyon,,in,France\nNice,in,France\n,,,,x\n"
    path = write({"facts.csv": content}) / "facts.csv"
    reading = read(path, skip_bad_lines=True)
    assert set(reading.kb.entities.table["name"]) == {"Paris", "Lyon", "France"}
    assert reading.report.skipped_lines == 2
    with pytest.raises(DataError, match=r"facts\.csv:4: found 3 columns"):
        read(path)
