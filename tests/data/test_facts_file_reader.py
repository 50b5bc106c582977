"""One file of facts in words: TSV, CSV, Parquet."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from cear.core.errors import DataError
from cear.data import KnowledgeBase, load, read

ROWS = [("Paris", "capital of", "France"), ("Kraków", "in", "Poland, the country"), ("Lyon", "in", "France")]


def facts_in_words(kb: KnowledgeBase) -> set[tuple[str, str, str]]:
    entity, relation = kb.entities.name, kb.relations.name
    splits = [kb.facts("train"), kb.facts("valid"), kb.facts("test")]
    return {(entity(s), relation(r), entity(o)) for facts in splits for s, r, o in facts.tolist()}


def _tsv(rows: list[tuple[str, str, str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("facts.tsv", _tsv(ROWS)),
        ("facts.txt", "subject\trelation\tobject\n" + _tsv(ROWS)),
        ("facts.tsv", "Head\tRelation\tTail\n" + _tsv(ROWS)),
        ("facts.tsv", "object\tpredicate\tsubject\n" + _tsv([row[::-1] for row in ROWS])),
        ("facts.csv", 'Paris,capital of,France\nKraków,in,"Poland, the country"\nLyon,in,France\n'),
        (
            "facts.csv",
            'subject,relation,object\nParis,capital of,France\nKraków,in,"Poland, the country"\nLyon,in,France\n',
        ),
    ],
)
def test_a_text_file_gives_its_facts(write: Callable[..., Path], name: str, content: str) -> None:
    assert facts_in_words(load(write({name: content}) / name)) == set(ROWS)


@pytest.mark.parametrize("columns", [("a", "b", "c"), ("subject", "relation", "object")])
def test_a_parquet_file_gives_its_facts(tmp_path: Path, columns: tuple[str, ...]) -> None:
    path = tmp_path / "facts.parquet"
    pl.DataFrame(ROWS, schema=list(columns), orient="row").write_parquet(path)
    assert facts_in_words(load(path)) == set(ROWS)


def test_named_parquet_columns_may_stand_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    pl.DataFrame({"tail": [7], "weight": [0.5], "head": [8], "relation": ["r"]}).write_parquet(path)
    assert facts_in_words(load(path)) == {("8", "r", "7")}


def test_the_digest_does_not_depend_on_the_format_or_the_order(write: Callable[..., Path]) -> None:
    folder = write({"a.tsv": _tsv(ROWS), "b.tsv": _tsv(ROWS[::-1]), "c.csv": _tsv(ROWS[:2])})
    pl.DataFrame(ROWS, schema=["s", "r", "o"], orient="row").write_parquet(folder / "d.parquet")
    digests = {load(folder / name).digest for name in ("a.tsv", "b.tsv", "d.parquet")}
    assert len(digests) == 1


def test_repeated_facts_are_kept_once_and_counted(write: Callable[..., Path]) -> None:
    reading = read(write({"facts.tsv": _tsv(ROWS + ROWS[:1])}) / "facts.tsv")
    assert facts_in_words(reading.kb) == set(ROWS)
    assert reading.report.duplicate_facts == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("facts.tsv", "", r"facts\.tsv holds no facts"),
        ("facts.tsv", "subject\trelation\tobject\n", r"facts\.tsv holds no facts"),
        ("facts.tsv", "head\trelation\ttail\na\tb\tc\nd\n", r"facts\.tsv:3: found 1 columns"),
        ("facts.csv", 'a,b,c\n"",b,c\n', r"facts\.csv:2: the subject is empty"),
        ("facts.parquet", "not parquet", r"facts\.parquet cannot be read as Parquet"),
    ],
)
def test_bad_files_are_refused(write: Callable[..., Path], name: str, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(write({name: content}) / name)


def test_a_parquet_file_of_other_columns_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"a": ["x"], "b": ["y"]}).write_parquet(tmp_path / "facts.parquet")
    with pytest.raises(DataError, match=r"has the columns \['a', 'b'\]; expected subject, relation, object"):
        load(tmp_path / "facts.parquet")


def test_an_empty_field_of_a_parquet_file_is_named_by_its_row(tmp_path: Path) -> None:
    path = tmp_path / "facts.parquet"
    pl.DataFrame({"subject": ["a", None], "relation": ["r", "r"], "object": ["b", "c"]}).write_parquet(path)
    with pytest.raises(DataError, match=r"facts\.parquet:2: the subject of this row is empty"):
        load(path)
    assert read(path, skip_bad_lines=True).report.skipped_lines == 1
