"""Parquet: what is no text is read by a rule or refused with a sentence."""

import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cear.core.errors import DataError
from cear.data import load, read

TIME = datetime.datetime(2024, 2, 29, 12, 30)


def _written(tmp_path: Path, objects: pl.Series) -> Path:
    path = tmp_path / "kb.parquet"
    pl.DataFrame({"subject": ["s"] * len(objects), "relation": ["r"] * len(objects), "object": objects}).write_parquet(
        path
    )
    return path


def _objects(path: Path, **options: Any) -> set[str]:
    return {*load(path, **options).entities.table["name"]} - {"s"}


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        (["a", "b "], pl.String, {"a", "b "}),
        (["a", "b"], pl.Categorical, {"a", "b"}),
        (["a", "b"], pl.Enum(["b", "a"]), {"a", "b"}),
        ([1, -2], pl.Int8, {"1", "-2"}),
        ([2**64 - 1], pl.UInt64, {"18446744073709551615"}),
        ([1.0, -2.0, 2.0**62], pl.Float64, {"1", "-2", str(2**62)}),
        ([3.0], pl.Float32, {"3"}),
        ([True, False], pl.Boolean, {"true", "false"}),
        ([TIME.date()], pl.Date, {"2024-02-29"}),
        ([TIME], pl.Datetime("ms"), {"2024-02-29 12:30:00.000"}),
        ([TIME], pl.Datetime("us", "UTC"), {"2024-02-29 12:30:00.000000+00:00"}),
        ([TIME.time()], pl.Time, {"12:30:00"}),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_values_that_have_words(tmp_path: Path, values: list[Any], kind: Any, words: set[str]) -> None:
    assert _objects(_written(tmp_path, pl.Series(values, dtype=kind))) == words


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([["a"]], "List"),
        ([{"a": 1}], "Struct"),
        ([b"a"], "Binary"),
        ([datetime.timedelta(1)], "Duration"),
        (pl.Series([1], dtype=pl.Decimal(5, 2)), "Decimal"),
        (pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)), "Array"),
    ],
)
def test_values_that_have_none(tmp_path: Path, values: Any, kind: str) -> None:
    path = _written(tmp_path, pl.Series(values))
    with pytest.raises(DataError, match=rf"the column 'object', for the object, holds {kind}.*Write it as text"):
        load(path, skip_bad_lines=True)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "the object of this row is empty"),
        (float("nan"), "the object of this row is empty"),
        (0.5, "the object is 0.5, expected text or an integer"),
        (float("inf"), "the object is inf, expected"),
        (2.0**63, "the object is 9.22.*, expected"),
    ],
)
def test_a_row_without_words_is_named_and_can_be_skipped(tmp_path: Path, value: float | None, problem: str) -> None:
    path = _written(tmp_path, pl.Series([1.0, value], dtype=pl.Float64))
    with pytest.raises(DataError, match=rf"kb\.parquet:2: {problem}"):
        load(path)
    reading = read(path, skip_bad_lines=True)
    assert reading.report.skipped_lines == 1
    assert "1" in set(reading.kb.entities.table["name"])


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u3000"])
def test_a_blank_is_empty(tmp_path: Path, blank: str) -> None:
    with pytest.raises(DataError, match=r"kb\.parquet:1: the object of this row is empty"):
        load(_written(tmp_path, pl.Series([blank, "a"])))


def test_a_column_of_nulls_is_empty(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"kb\.parquet:1: the object of this row is empty"):
        load(_written(tmp_path, pl.Series([None, None])))


def test_a_file_without_rows_holds_no_facts(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no facts"):
        load(_written(tmp_path, pl.Series([], dtype=pl.String)))


def test_a_file_that_is_cut_off_is_told(tmp_path: Path) -> None:
    path = _written(tmp_path, pl.Series([f"o{i}" for i in range(20)]))
    whole = path.read_bytes()
    for cut in range(0, len(whole), 97):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataError):
            load(path)
