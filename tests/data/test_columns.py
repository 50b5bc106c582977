"""Which columns hold the facts, where the user says it: by name or by number, in text and in Parquet."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cear.core.errors import AmbiguousName, CearError, ConfigError, UnknownName
from cear.data import Columns, KnowledgeBase, load, parse_columns, read

TABLE = [
    ("Nr", "Kopf", "Gewicht", "Ende", "Art"),
    ("1", "Paris", ".5", "France", "in"),
    ("2", "Lyon", "", "France", "in"),
    ("3", "Kraków", ".1", "Poland, the country", "lies in"),
]
FACTS = {("Paris", "in", "France"), ("Lyon", "in", "France"), ("Kraków", "lies in", "Poland, the country")}
NAMES = {"subject": "Kopf", "relation": "Art", "object": "Ende"}
NUMBERS = {"subject": 2, "relation": 5, "object": 4}


def _facts(kb: KnowledgeBase) -> set[tuple[str, str, str]]:
    entity, relation = kb.entities.name, kb.relations.name
    every = [fact for split in ("train", "valid", "test") for fact in kb.facts(split).tolist()]  # type: ignore[arg-type]
    return {(entity(s), relation(r), entity(o)) for s, r, o in every}


def _text(between: str, rows: list[tuple[str, ...]]) -> str:
    quoted = [[f'"{field}"' if between in field else field for field in row] for row in rows]
    return "".join(between.join(row) + "\n" for row in quoted)


@pytest.fixture
def table(write: Callable[..., Path]) -> Callable[..., Path]:
    """Writes a table in a format, with or without its header."""

    def written(name: str, *, header: bool = True, between: str = "\t") -> Path:
        rows = TABLE if header else TABLE[1:]
        if name.endswith(".parquet"):
            path = write({}) / name
            pl.DataFrame(TABLE[1:], schema=list(TABLE[0]), orient="row").write_parquet(path)
            return path
        return write({name: _text(between, rows)}) / name

    return written


@pytest.mark.parametrize(
    ("name", "between"),
    [("kb.tsv", "\t"), ("kb.txt", "\t"), ("kb.csv", ","), ("kb.csv", ";"), ("kb.csv", "|"), ("kb.parquet", "")],
)
@pytest.mark.parametrize(
    "columns",
    [NAMES, {part: name.upper() for part, name in NAMES.items()}, NAMES | {"object": 4}, Columns(**NAMES)],
    ids=["names", "another letter case", "names and a number", "settings"],
)
def test_columns_are_found_by_name(table: Callable[..., Path], name: str, between: str, columns: Any) -> None:
    reading = read(table(name, between=between), columns=columns)
    assert _facts(reading.kb) == FACTS
    assert reading.report.left_out == {"columns beside subject, relation and object": 2}


@pytest.mark.parametrize(("name", "between"), [("kb.tsv", "\t"), ("kb.csv", ","), ("kb.csv", ";"), ("kb.parquet", "")])
def test_columns_are_found_by_number(table: Callable[..., Path], name: str, between: str) -> None:
    assert _facts(load(table(name, header=False, between=between), columns=NUMBERS)) == FACTS


def test_by_number_a_header_that_we_know_is_one(write: Callable[..., Path]) -> None:
    path = write({"kb.csv": "id,tail,head,relation\n1,France,Paris,in\n2,France,Lyon,in\n"}) / "kb.csv"
    kb = load(path, columns={"subject": 3, "relation": 4, "object": 2})
    assert _facts(kb) == {("Paris", "in", "France"), ("Lyon", "in", "France")}


def test_the_user_s_word_counts_more_than_a_header(write: Callable[..., Path]) -> None:
    path = write({"kb.tsv": "subject\trelation\tobject\na\tr\tb\nc\tr\td\n"}) / "kb.tsv"
    turned = load(path, columns={"subject": "object", "relation": "relation", "object": "subject"})
    assert _facts(turned) == {("b", "r", "a"), ("d", "r", "c")}


def test_the_splits_of_a_folder_have_columns_too(write: Callable[..., Path]) -> None:
    folder = write({"train.tsv": _text("\t", TABLE[:3]), "test.txt.gz": _text("\t", [TABLE[0], TABLE[3]])})
    kb = load(folder, columns=NAMES)
    assert _facts(kb) == FACTS
    assert len(kb.facts("test")) == 1


class TestErrors:
    @pytest.mark.parametrize("name", ["kb.tsv", "kb.parquet"])
    def test_an_unknown_name_is_told_with_the_closest_and_all(self, table: Callable[..., Path], name: str) -> None:
        with pytest.raises(
            UnknownName,
            match=r"has no column 'Kpof'\. Did you mean 'Kopf'\? It has 5: 'Nr', 'Kopf', 'Gewicht', 'Ende', 'Art'\.",
        ):
            load(table(name), columns=NAMES | {"subject": "Kpof"})

    @pytest.mark.parametrize("name", ["kb.tsv", "kb.parquet"])
    def test_a_number_that_is_too_large(self, table: Callable[..., Path], name: str) -> None:
        with pytest.raises(UnknownName, match=r"has no column 6\. It has 5: 'Nr'"):
            load(table(name), columns=NAMES | {"object": 6})

    def test_a_name_that_two_columns_have(self, write: Callable[..., Path]) -> None:
        path = write({"kb.tsv": "x\tr\tx\na\tb\tc\n"}) / "kb.tsv"
        with pytest.raises(AmbiguousName, match=r"the columns 1 and 3 are called 'x'\. Say which by its number"):
            load(path, columns={"subject": "x", "relation": "r", "object": 3})

    def test_one_column_for_two_parts(self, table: Callable[..., Path]) -> None:
        with pytest.raises(ConfigError, match="one column"):
            load(table("kb.tsv"), columns=NAMES | {"object": 2})

    def test_a_bad_line_is_named(self, write: Callable[..., Path]) -> None:
        path = write({"kb.tsv": "a\tb\tc\td\n1\tx\tr\ty\n2\tx\t\ty\n"}) / "kb.tsv"
        with pytest.raises(CearError, match=r"kb\.tsv:3: the relation is empty"):
            load(path, columns={"subject": "b", "relation": "c", "object": "d"})

    def test_a_layout_whose_columns_are_fixed(self, write: Callable[..., Path]) -> None:
        path = write({"kb.nt": "<http://x/a> <http://x/r> <http://x/b> .\n"}) / "kb.nt"
        with pytest.raises(ConfigError, match="'rdf', whose columns are fixed"):
            load(path, columns=NAMES)

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"subject": "a", "relation": "b"}, "object: Field required"),
            ({"subject": "a", "relation": "b", "objekt": "c"}, "Did you mean 'object'"),
            ({"subject": 0, "relation": 1, "object": 2}, "subject: Input should be greater than 0"),
            ({"subject": "a", "relation": "a", "object": "b"}, "a column of its own"),
            ({"subject": " ", "relation": "a", "object": "b"}, "subject: "),
        ],
    )
    def test_columns_that_make_no_sense(self, columns: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            load("demo", columns=columns)

    @pytest.mark.parametrize("text", ["", "subject", "subject=a,subject=b,object=c", "subject=a,relation=b"])
    def test_text_that_is_no_columns(self, text: str) -> None:
        with pytest.raises(ConfigError, match=r"subject|object"):
            parse_columns(text)


def test_a_reading_with_other_columns_is_another_one(table: Callable[..., Path]) -> None:
    path = table("kb.tsv")
    assert load(path, columns=NAMES).digest == load(path, columns=NAMES | {"object": 4}).digest
    other = NAMES | {"object": "Gewicht"}
    assert load(path, columns=other, skip_bad_lines=True).digest != load(path, columns=NAMES).digest
