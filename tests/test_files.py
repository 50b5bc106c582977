"""Atomic writes: whatever happens, a reader finds the old file or the new one, whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cear.core.files import read_json, remove_leftovers, replacing, write_json

KILLED_IN_A_WRITE = """
import os, signal, sys
from pathlib import Path
from cear.core.files import replacing
with replacing(Path(sys.argv[1])) as partial:
    partial.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Failure(BaseException):
    """Not even an Exception, as Ctrl-C is not."""


def write_some_and_fail(path: Path, content: bytes) -> None:
    with replacing(path) as partial:
        partial.write_bytes(content)
        raise Failure


@given(old=st.none() | st.binary(max_size=50), new=st.binary(max_size=50), written=st.integers(0, 50))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_write_that_fails_anywhere_leaves_what_was_there(
    tmp_path: Path, old: bytes | None, new: bytes, written: int
) -> None:
    path = tmp_path / "file"
    path.unlink(missing_ok=True)
    if old is not None:
        path.write_bytes(old)
    with pytest.raises(Failure):
        write_some_and_fail(path, new[:written])
    assert (path.read_bytes() if path.exists() else None) == old
    assert names(tmp_path) == ([] if old is None else ["file"])


@given(old=st.none() | st.binary(max_size=50), new=st.binary(max_size=50))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_write_that_ends_well_leaves_the_new_file_alone(tmp_path: Path, old: bytes | None, new: bytes) -> None:
    path = tmp_path / "file"
    if old is not None:
        path.write_bytes(old)
    with replacing(path) as partial:
        partial.write_bytes(new)
        assert not path.exists() or old is None or path.read_bytes() in (old, new)
    assert path.read_bytes() == new
    assert names(tmp_path) == ["file"]


def test_until_the_block_ends_readers_see_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with replacing(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_a_reader_at_any_moment_sees_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_json(path, [0] * 1000)
    done, seen = threading.Event(), set()

    def read() -> None:
        while not done.is_set():
            value = read_json(path)
            assert len(value) == 1000
            seen.add(value[0])
            assert set(value) == {value[0]}

    failures: list[BaseException] = []

    def watched() -> None:
        try:
            read()
        except BaseException as error:
            failures.append(error)

    reader = threading.Thread(target=watched)
    reader.start()
    for number in range(1, 40):
        write_json(path, [number] * 1000)
    done.set()
    reader.join()
    assert not failures
    assert seen


def test_a_process_killed_in_a_write_leaves_the_old_file_and_a_leftover_that_can_be_cleared(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED_IN_A_WRITE, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    assert len(names(tmp_path)) == 2
    remove_leftovers(tmp_path)
    assert names(tmp_path) == ["file"]


def test_clearing_touches_nothing_else(tmp_path: Path) -> None:
    for name in ("file", ".hidden", "half.partial", ".file.abc.partial"):
        (tmp_path / name).touch()
    remove_leftovers(tmp_path)
    assert names(tmp_path) == [".hidden", "file", "half.partial"]
    remove_leftovers(tmp_path / "not there")


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    write_json(tmp_path / "a" / "b" / "c.json", 1)
    assert read_json(tmp_path / "a" / "b" / "c.json") == 1


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_files_have_the_mode_that_the_user_asked_for(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        write_json(tmp_path / "file.json", 1)
    finally:
        os.umask(before)
    assert (tmp_path / "file.json").stat().st_mode & 0o777 == mode


class TestJson:
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=8,
        )
    )
    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_values_come_back_unrounded(self, tmp_path: Path, value: object) -> None:
        write_json(tmp_path / "file.json", value)
        assert read_json(tmp_path / "file.json") == value

    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), {1, 2}])
    def test_what_json_has_not_is_refused_and_the_old_file_stays(self, tmp_path: Path, bad: object) -> None:
        write_json(tmp_path / "file.json", "old")
        with pytest.raises((ValueError, TypeError)):
            write_json(tmp_path / "file.json", {"value": bad})
        assert read_json(tmp_path / "file.json") == "old"
        assert names(tmp_path) == ["file.json"]

    def test_names_stay_readable(self, tmp_path: Path) -> None:
        write_json(tmp_path / "file.json", {"name": "São Tomé"})
        text = (tmp_path / "file.json").read_text(encoding="utf-8")
        assert text == '{\n  "name": "São Tomé"\n}\n'
        assert json.loads(text) == {"name": "São Tomé"}


def test_a_folder_that_was_left_half_copied_is_removed_too(tmp_path: Path) -> None:
    (tmp_path / ".stage1.partial").mkdir()
    (tmp_path / ".stage1.partial" / "best.safetensors").write_bytes(b"half")
    (tmp_path / "stage2").mkdir()
    remove_leftovers(tmp_path)
    assert names(tmp_path) == ["stage2"]
