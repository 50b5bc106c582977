"""Seals: what is no longer as it was written is told, and what was never sealed is read as it is."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from cear.core.errors import DataError
from cear.core.seals import SEAL, flaw_of, if_whole, read_sealed, seal, write_sealed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sealed folder with two files, one of them in a folder inside."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "weights").write_bytes(b"0123456789")
    (tmp_path / "deep" / "words").write_text("hello")
    seal(tmp_path)
    return tmp_path


class TestFolders:
    def test_as_it_was_written_it_has_no_flaw(self, folder: Path) -> None:
        assert flaw_of(folder) is None

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            (b"", "weights is not what was written (0 bytes, then 10)"),
            (b"01234", "weights is not what was written (5 bytes, then 10)"),
            (b"0123456788", "weights is not what was written (10 bytes, then 10)"),
            (None, "weights is not there"),
        ],
    )
    def test_what_is_damaged_is_named(self, folder: Path, content: bytes | None, told: str) -> None:
        (folder / "weights").unlink() if content is None else (folder / "weights").write_bytes(content)
        assert flaw_of(folder) == told

    def test_a_folder_in_the_place_of_a_file_is_damage(self, folder: Path) -> None:
        (folder / "weights").unlink()
        (folder / "weights").mkdir()
        assert flaw_of(folder) == "weights is not there"

    def test_only_some_files_are_looked_at_if_so_asked(self, folder: Path) -> None:
        (folder / "weights").write_bytes(b"")
        assert flaw_of(folder, ["deep/words"]) is None

    def test_what_comes_later_is_not_under_the_seal(self, folder: Path) -> None:
        (folder / "later").write_text("x")
        assert flaw_of(folder) is None

    def test_without_a_seal_nothing_is_told(self, folder: Path) -> None:
        (folder / SEAL).unlink()
        (folder / "weights").write_bytes(b"")
        assert flaw_of(folder) is None

    def test_every_flipped_bit_of_the_seal_itself_is_told_or_harmless(self, folder: Path) -> None:
        """Harmless is a blank between two values, which is no other value."""
        whole = (folder / SEAL).read_bytes()
        meant = json.loads(whole)
        for place in range(len(whole)):
            for bit in range(8):
                damaged = bytearray(whole)
                damaged[place] ^= 1 << bit
                (folder / SEAL).write_bytes(damaged)
                assert flaw_of(folder) is not None or json.loads(damaged) == meant


class TestDictionaries:
    def test_come_back(self, tmp_path: Path) -> None:
        write_sealed(tmp_path / "a.json", {"b": 1.5, "c": [None, "d"]})
        assert read_sealed(tmp_path / "a.json") == {"b": 1.5, "c": [None, "d"]}

    def test_another_value_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        write_sealed(path, {"b": 1.5})
        path.write_text(path.read_text().replace("1.5", "1.6"))
        with pytest.raises(DataError, match=r"a\.json cannot be read: it is not what was written"):
            read_sealed(path)

    def test_without_a_seal_it_is_read_unless_there_has_always_been_one(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text('{"b": 1}')
        assert read_sealed(tmp_path / "a.json") == {"b": 1}
        with pytest.raises(DataError, match="not what was written"):
            read_sealed(tmp_path / "a.json", always=True)

    def test_a_list_is_no_dictionary(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text("[1]")
        with pytest.raises(DataError, match="it holds list, expected a dictionary"):
            read_sealed(tmp_path / "a.json")


def test_what_can_be_made_again_is_told_when_it_is_damaged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.json"
    assert if_whole(path, read_sealed) is None
    assert not caplog.text, "there is nothing wrong with a file that is not there yet"
    write_sealed(path, {"b": 1})
    assert if_whole(path, read_sealed) == {"b": 1}
    path.write_text("{")
    with caplog.at_level(logging.WARNING):
        assert if_whole(path, read_sealed) is None
    assert f"{path} is damaged and made again" in caplog.text
