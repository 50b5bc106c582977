"""Damaged and foreign files: one kind of error for JSON, tensors, tables and records, which names the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from safetensors.torch import save_file

from cear.core.errors import DataError
from cear.core.files import read_json
from cear.core.records import from_json
from cear.core.tables import read_table, read_words
from cear.core.tensors import load_state, read_tensors, write_tensors

Reader = Callable[[Path], Any]
READERS: dict[str, Reader] = {
    "json": read_json,
    "tensors": read_tensors,
    "table": read_table,
    "words of a table": lambda path: read_words(path, "key"),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
class TestEveryReader:
    @pytest.mark.parametrize("content", [b"", b"\0" * 100, b"\xff\xfe{}", b"a letter", b"PAR1" + b"\7" * 60 + b"PAR1"])
    def test_names_a_file_of_something_else(self, read: Reader, content: bytes, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(DataError, match=r"file cannot be read: .+\. It is damaged, or .*Copy it again"):
            read(tmp_path / "file")

    def test_names_a_file_that_is_not_there(self, read: Reader, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="file cannot be read"):
            read(tmp_path / "file")

    def test_names_a_folder(self, read: Reader, tmp_path: Path) -> None:
        (tmp_path / "file").mkdir()
        with pytest.raises(DataError, match="file cannot be read"):
            read(tmp_path / "file")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a": NaN}',
        '{"a": -Infinity}',
        "1" * 5_000,
        '{"a": 1',
        "{} {}",
        '{"a": 1e999}',
        r'{"a": "\ud800"}',
    ],
)
def test_json_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataError, match=r"a\.json cannot be read"):
        read_json(tmp_path / "a.json")


class TestTensors:
    def test_come_back_with_their_words(self, tmp_path: Path) -> None:
        path = tmp_path / "a.safetensors"
        kept = {"a": torch.randn(2, 3), "b": torch.zeros(0), "c": torch.tensor(True), "d": torch.ones(1).bfloat16()}
        write_tensors(path, kept, {"key": "value"})
        read, words = read_tensors(path)
        assert words == {"key": "value"}
        assert read.keys() == kept.keys()
        assert all(torch.equal(read[name], kept[name]) for name in kept)

    def test_one_flipped_bit_of_a_number_is_told_wherever_it_is(self, tmp_path: Path) -> None:
        path = tmp_path / "a.safetensors"
        write_tensors(path, {"a": torch.arange(6.0), "b": torch.arange(3)})
        whole = path.read_bytes()
        for place in range(len(whole) - 48, len(whole)):  # 6 * 4 bytes, 3 * 8 bytes
            damaged = bytearray(whole)
            damaged[place] ^= 1 << place % 8
            path.write_bytes(damaged)
            with pytest.raises(DataError, match="its numbers are not those that were written"):
                read_tensors(path)

    def test_files_of_others_have_no_sum_and_are_read(self, tmp_path: Path) -> None:
        save_file({"a": torch.ones(2)}, tmp_path / "a.safetensors", {"format": "pt"})
        tensors, words = read_tensors(tmp_path / "a.safetensors")
        assert tensors["a"].tolist() == [1.0, 1.0]
        assert words == {"format": "pt"}

    def test_one_that_is_not_there_is_told(self, tmp_path: Path) -> None:
        write_tensors(tmp_path / "a.safetensors", {"a": torch.ones(2)})
        with pytest.raises(DataError, match=r"a\.safetensors cannot be read: it has no tensor 'b', only a"):
            read_tensors(tmp_path / "a.safetensors")[0]["b"]

    def test_weights_of_another_model_are_told(self, tmp_path: Path) -> None:
        write_tensors(tmp_path / "a.safetensors", dict(torch.nn.Linear(2, 3).state_dict()))
        with pytest.raises(DataError, match=r"a\.safetensors cannot be read: .*size mismatch"):
            load_state(torch.nn.Linear(2, 2), read_tensors(tmp_path / "a.safetensors")[0])


WANTED = {"entity": pl.Int64(), "scores": pl.Array(pl.Float32(), 2)}
WHOLE = {"entity": [1, 2], "scores": [[1.0, 2.0], [3.0, 4.0]]}


class TestTables:
    def test_any_integers_and_any_numbers_are_welcome(self, tmp_path: Path) -> None:
        table = pl.DataFrame({"entity": pl.Series([1, 2], dtype=pl.UInt8), "scores": [[1, 2], [3, 4]]})
        table.write_parquet(tmp_path / "a.parquet")
        assert read_table(tmp_path / "a.parquet", WANTED).rows() == [(1, [1.0, 2.0]), (2, [3.0, 4.0])]

    @pytest.mark.parametrize(
        ("wrong", "told"),
        [
            ({"entity": [1.5, 2.0]}, "the column entity holds Float64, expected integers"),
            ({"entity": ["1", "2"]}, "the column entity holds String, expected integers"),
            ({"entity": [1, None]}, "the column entity has empty places"),
            ({"scores": [[1.0, None], [3.0, 4.0]]}, "the column scores has empty places"),
            ({"scores": [None, [3.0, 4.0]]}, "the column scores has empty places"),
            ({"scores": [[1.0], [3.0, 4.0]]}, "not all elements have the specified width 2"),
            ({"scores": [1.0, 2.0]}, "cannot be read"),
        ],
    )
    def test_what_would_be_cut_off_or_made_up_is_refused(self, wrong: Any, told: str, tmp_path: Path) -> None:
        pl.DataFrame(WHOLE | wrong).write_parquet(tmp_path / "a.parquet")
        with pytest.raises(DataError, match=told):
            read_table(tmp_path / "a.parquet", WANTED)

    def test_a_column_that_is_not_there(self, tmp_path: Path) -> None:
        pl.DataFrame({"entity": [1]}).write_parquet(tmp_path / "a.parquet")
        with pytest.raises(DataError, match="scores"):
            read_table(tmp_path / "a.parquet", WANTED)

    def test_words_are_a_value_of_json(self, tmp_path: Path) -> None:
        pl.DataFrame(WHOLE).write_parquet(tmp_path / "a.parquet", metadata={"key": "[1, 2]", "other": "{"})
        assert read_words(tmp_path / "a.parquet", "key") == [1, 2]
        assert read_words(tmp_path / "a.parquet", "no such key") is None
        with pytest.raises(DataError, match=r"a\.parquet cannot be read"):
            read_words(tmp_path / "a.parquet", "other")


@dataclass(frozen=True)
class Town:
    name: str
    people: int
    area: float = 0.0
    names: tuple[str, ...] = ()


class TestRecords:
    def test_come_back(self) -> None:
        values = {"name": "Kazan", "people": 3, "area": 1, "names": ["a", "b"]}
        assert from_json(Town, values, "x.json") == Town("Kazan", 3, 1.0, ("a", "b"))

    @pytest.mark.parametrize(
        ("values", "told"),
        [
            (None, "it holds NoneType, expected the fields of Town"),
            ([1], "it holds list"),
            ({"name": "Kazan"}, "Town has no people there"),
            ({"name": "Kazan", "people": None}, "people: .*integer, but found 'None'"),
            ({"name": "Kazan", "people": 2.5}, r"people: .*integer, but found '2\.5'"),
            ({"name": "Kazan", "people": "3"}, "people: .*integer, but found '3'"),
            ({"name": 7, "people": 3}, "name: .*string, but found '7'"),
            ({"name": "Kazan", "people": 3, "names": [1]}, r"names\.0: .*string"),
            ({"name": "Kazan", "people": 3, "colour": "red"}, "no field of Town is called colour"),
        ],
    )
    def test_of_other_types_are_refused(self, values: Any, told: str) -> None:
        with pytest.raises(DataError, match=rf"x\.json cannot be read: {told}"):
            from_json(Town, values, "x.json")
