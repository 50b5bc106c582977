"""Atomic writes: whatever happens, a reader finds the old file or the new one, whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cear.core import files
from cear.core.files import partial_of, read_json, remove_leftovers, replacing, write_json

KILLED_IN_A_WRITE = """
import os, signal, sys
from pathlib import Path
from cear.core.files import replacing
with replacing(Path(sys.argv[1])) as partial:
    partial.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""

WAITS_IN_A_WRITE = """
import sys, time
from pathlib import Path
from cear.core.files import replacing
with replacing(Path(sys.argv[1])):
    print("writing", flush=True)
    time.sleep(60)
"""
PRINTS_A_PARTIAL_PATH = """
import sys
from pathlib import Path
from cear.core.files import partial_of
print(partial_of(Path(sys.argv[1])))
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
        os.utime(tmp_path / name, (0, 0))
    remove_leftovers(tmp_path)
    assert names(tmp_path) == [".hidden", "file", "half.partial"]
    remove_leftovers(tmp_path / "not there")


class TestLeftovers:
    def test_a_file_that_is_being_written_stays(self, tmp_path: Path) -> None:
        with replacing(tmp_path / "file") as partial:
            partial.write_text("half")
            remove_leftovers(tmp_path)
            partial.write_text("whole")
        assert (tmp_path / "file").read_text() == "whole"

    def test_one_that_another_process_is_writing_stays_until_it_is_killed(self, tmp_path: Path) -> None:
        command = [sys.executable, "-c", WAITS_IN_A_WRITE, str(tmp_path / "file")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "writing\n"
            remove_leftovers(tmp_path)
            assert len(names(tmp_path)) == 1
            writer.kill()
        remove_leftovers(tmp_path)
        assert names(tmp_path) == []

    def test_whose_writer_had_a_number_that_another_process_has_now_goes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as before:
            before.setattr(files, "_started", lambda _: "1")
            partial_of(tmp_path / "file").touch()
        remove_leftovers(tmp_path)
        assert names(tmp_path) == []

    @pytest.mark.parametrize(("hours", "left"), [(23, 1), (25, 0)])
    @pytest.mark.parametrize("name", [".file.abc.partial", ".file.00000000-7-7-abc.partial"])
    def test_whose_writer_is_unknown_or_elsewhere_goes_after_a_day(
        self, tmp_path: Path, name: str, hours: int, left: int
    ) -> None:
        changed = time.time() - hours * 3600
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (changed, changed))
        remove_leftovers(tmp_path)
        assert len(names(tmp_path)) == left


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
    command = [sys.executable, "-c", PRINTS_A_PARTIAL_PATH, tmp_path / "stage1"]
    half = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    half.mkdir()
    (half / "best.safetensors").write_bytes(b"half")
    (tmp_path / "stage2").mkdir()
    remove_leftovers(tmp_path)
    assert names(tmp_path) == ["stage2"]
