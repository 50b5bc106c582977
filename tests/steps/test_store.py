"""Steps that are kept by content: made once, whole or not at all, by one process at a time, with what they cost."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from cear.core.context import HERE
from cear.steps import Step, Store


def writes(text: str, calls: list[str] | None = None) -> Callable[[Path], None]:
    """A step's work: one small file."""

    def make(folder: Path) -> None:
        if calls is not None:
            calls.append(text)
        (folder / "text").write_text(text)

    return make


def step(text: str, *inputs: Step, calls: list[str] | None = None, **settings: Any) -> Step:
    return Step(text, "kind", {"text": text, **settings}, writes(text, calls), inputs)


class TestKeys:
    def test_are_of_kind_settings_and_inputs_and_of_nothing_else(self) -> None:
        one = step("a", x=1)
        assert one.key == step("a", x=1).key
        assert one.key == Step("another name", "kind", {"x": 1, "text": "a"}, writes("other")).key
        others = [step("a", x=2), step("b", x=1), Step("a", "other", {"text": "a", "x": 1}, writes("a")), step("a")]
        assert len({one.key, *(each.key for each in others)}) == 5

    def test_another_input_is_another_step(self) -> None:
        keys = {step("c", step("a")).key, step("c", step("b")).key, step("c").key, step("c", step("a"), step("b")).key}
        assert len(keys) == 4

    def test_the_chain_has_everything_once_inputs_first(self) -> None:
        root = step("root")
        left, right = step("left", root), step("right", root)
        assert [each.name for each in step("top", left, right).chain()] == ["root", "left", "right", "top"]


class TestStore:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return Store(tmp_path / "store", context=HERE)

    def test_a_step_is_made_once_and_inputs_first(self, store: Store) -> None:
        calls: list[str] = []
        root = step("root", calls=calls)
        top = step("top", root, calls=calls)
        folder = store.get(top)
        assert (folder / "text").read_text() == "top"
        assert store.get(top) == folder
        assert store.get(root)
        assert calls == ["root", "top"]

    def test_another_store_on_the_same_folder_reuses_it_and_knows_what_it_cost(self, store: Store) -> None:
        calls: list[str] = []
        store.get(step("a", calls=calls))
        again = Store(store.folder, context=HERE)
        again.get(step("a", calls=calls))
        assert calls == ["a"]
        mine, its = store.report(step("a")), again.report(step("a"))
        assert (mine.reused, its.reused) == (False, True)
        assert mine.spent == its.spent

    def test_finished_steps_are_found_in_other_folders_too(self, store: Store, tmp_path: Path) -> None:
        folder = store.get(step("a"))
        other = Store(tmp_path / "mine", others=[store.folder], context=HERE)
        assert other.get(step("a")) == folder
        assert other.get(step("b")).is_relative_to(tmp_path / "mine")

    def test_a_step_that_fails_leaves_no_result_and_goes_on_where_it_was(self, store: Store) -> None:
        tries: list[bool] = []

        def make(folder: Path) -> None:
            tries.append((folder / "half").exists())
            (folder / "half").write_text("so far")
            if len(tries) == 1:
                raise KeyboardInterrupt

        broken = Step("broken", "kind", {}, make)
        with pytest.raises(KeyboardInterrupt):
            store.get(broken)
        assert not store.has(broken)
        assert (store.get(broken) / "half").read_text() == "so far"
        assert tries == [False, True]

    def test_what_a_training_goes_on_from_is_gone_when_it_is_done(self, store: Store) -> None:
        def make(folder: Path) -> None:
            (folder / "deep").mkdir()
            for name in ("checkpoint.safetensors", "best.safetensors", "deep/checkpoint.safetensors"):
                (folder / name).write_text("x")

        folder = store.get(Step("a", "kind", {}, make))
        left = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        assert left == ["best.safetensors", "seal.json", "step.json"]

    def test_a_report_of_another_schema_is_made_again(self, store: Store) -> None:
        calls: list[str] = []
        path = store.get(step("a", calls=calls)) / "step.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 0}))
        path.with_name("seal.json").unlink()  # as a version before ours left it
        Store(store.folder, context=HERE).get(step("a", calls=calls))
        assert calls == ["a", "a"]


class TestPieces:
    """Work that falls into pieces: each is kept as soon as it is made, and in the end there is only the whole."""

    @staticmethod
    def whole(calls: list[str], store: Store, fail: bool = False) -> Step:
        pieces = [step(name, calls=calls) for name in ("one", "two")]

        def join(folder: Path) -> None:
            calls.append("joined")
            if fail:
                raise KeyboardInterrupt
            (folder / "text").write_text("+".join((store.get(each) / "text").read_text() for each in pieces))

        return Step("whole", "kind", {"text": "whole"}, join, pieces=lambda: pieces)

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return Store(tmp_path / "store", context=HERE)

    def test_are_made_first_and_gone_when_they_are_joined(self, store: Store) -> None:
        calls: list[str] = []
        made = self.whole(calls, store)
        assert (store.get(made) / "text").read_text() == "one+two"
        assert calls == ["one", "two", "joined"]
        assert [path.name for path in store.folder.glob("kind/*/")] == [made.key[:32]]
        assert store.report(made).spent.seconds >= 0

    def test_are_not_made_again_after_an_interruption(self, store: Store) -> None:
        calls: list[str] = []
        with pytest.raises(KeyboardInterrupt):
            store.get(self.whole(calls, store, fail=True))
        store.get(self.whole(calls, store))
        assert calls == ["one", "two", "joined", "joined"]

    def test_are_found_once(self, store: Store) -> None:
        """How work is cut may be minutes of work itself, as it is for the questions of millions of entities."""
        asked: list[str] = []
        made = self.whole([], store)
        pieces = made.cut()
        store.get(replace(made, pieces=lambda: asked.append("asked") or pieces))
        assert asked == ["asked"]

    def test_decide_no_key(self, store: Store) -> None:
        assert self.whole([], store).key == Step("whole", "kind", {"text": "whole"}, writes("whole")).key


class TestExecutor:
    """Somebody else who makes steps: what he has made is used, and what he has not is made here."""

    class Other:
        def __init__(self) -> None:
            self.asked: list[list[str]] = []

        def make(self, steps: Sequence[Step], store: Store) -> None:
            self.asked.append([each.name for each in steps])
            for each in steps:
                Store(store.folder, context=HERE).get(each)
                assert store.was_made(each)

    def test_is_asked_for_what_is_missing_all_at_once(self, tmp_path: Path) -> None:
        other, calls = self.Other(), list[str]()
        store = Store(tmp_path, context=HERE, executor=other)
        store.get(step("there", calls=calls))
        store.get_all([step(name, calls=calls) for name in ("there", "a", "b")])
        store.get(step("a", calls=calls))
        assert other.asked == [["there"], ["a", "b"]]
        assert calls == ["there", "a", "b"]

    def test_what_he_has_made_for_this_run_is_not_reused(self, tmp_path: Path) -> None:
        store = Store(tmp_path, context=HERE, executor=self.Other())
        store.get(step("a"))
        assert not store.report(step("a")).reused
        assert Store(tmp_path, context=HERE).report(step("a")).reused

    def test_a_damaged_step_is_made_again_by_him(self, tmp_path: Path) -> None:
        other = self.Other()
        (Store(tmp_path, context=HERE).get(step("a")) / "text").write_text("damaged")
        folder = Store(tmp_path, context=HERE, executor=other).get(step("a"))
        assert (folder / "text").read_text() == "a"
        assert other.asked == [["a"]]


class TestWhatItCost:
    def test_seconds_cpu_threads_memory_device_version_and_commit(self, tmp_path: Path) -> None:
        def make(folder: Path) -> None:
            end = time.process_time() + 0.2
            while time.process_time() < end:
                sum(range(1000))
            (folder / "x").write_text("x")

        work = Step("work", "kind", {}, make)
        store = Store(tmp_path, context=HERE)
        store.get(work)
        report = store.report(work)
        assert report.spent.cpu_seconds >= 0.2
        assert report.spent.seconds > 0.05, "the work of other threads may hide in it, not more"
        assert report.spent.threads >= 1
        assert report.spent.peak_bytes > 10**7
        assert (report.device, report.reused) == ("cpu", False)
        flat = report.as_json()
        assert flat["seconds"] == report.spent.seconds
        assert {"commit", "dirty", "version", "date", "key", "name"} <= set(flat)

    def test_an_interrupted_try_is_counted_too(self, tmp_path: Path) -> None:
        tries: list[int] = []

        def make(folder: Path) -> None:
            del folder
            time.sleep(0.2)
            tries.append(1)
            if len(tries) == 1:
                raise KeyboardInterrupt

        work, store = Step("work", "kind", {}, make), Store(tmp_path, context=HERE)
        with pytest.raises(KeyboardInterrupt):
            store.get(work)
        store.get(work)
        assert store.report(work).spent.seconds >= 0.4


PROGRAM = dedent(
    """
    import sys, time
    from pathlib import Path
    from cear.core.context import HERE
    from cear.steps import Step, Store

    def make(folder):
        with (folder / "log").open("a") as file:
            file.write("start\\n")
            file.flush()
            while not Path(sys.argv[2]).exists():
                time.sleep(0.05)
            file.write("end\\n")

    store = Store(Path(sys.argv[1]), context=HERE)
    print("ready", flush=True)
    print((store.get(Step("slow", "kind", {}, make)) / "log").read_text())
    """
)


def start(folder: Path) -> subprocess.Popen[str]:
    """A process that makes a step, which ends when there is a file `go` in the folder."""
    command = [sys.executable, "-c", PROGRAM, str(folder), str(folder / "go")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def begun(folder: Path) -> subprocess.Popen[str]:
    """One that has begun to make its step."""
    process = start(folder)
    while not [*folder.glob("kind/*.partial/log")]:
        assert process.poll() is None
        time.sleep(0.05)
    return process


class TestTwoProcesses:
    def test_one_makes_it_and_the_other_waits_and_is_told(self, tmp_path: Path) -> None:
        both = [begun(tmp_path), start(tmp_path)]
        assert both[1].stderr is not None
        assert "Another process is making slow" in both[1].stderr.readline()
        (tmp_path / "go").touch()
        ends = [process.communicate(timeout=60) for process in both]
        assert [process.returncode for process in both] == [0, 0]
        assert [out.split() for out, _ in ends] == [["ready", "start", "end"]] * 2, "made once, and never mixed"
        assert "Another process" not in ends[0][1]

    def test_a_killed_one_leaves_the_lock_free(self, tmp_path: Path) -> None:
        process = begun(tmp_path)
        process.kill()
        process.communicate()
        (tmp_path / "go").touch()
        out, _ = start(tmp_path).communicate(timeout=60)
        assert out.split() == ["ready", "start", "start", "end"]


def test_what_is_reused_is_said_to_who_listens(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Store(tmp_path, context=HERE).get(step("a"))
    with caplog.at_level(logging.DEBUG, "cear.steps"):
        Store(tmp_path, context=HERE).get(step("a"))
    assert "a is reused" in caplog.text


def test_killed_on_its_way_into_its_place_it_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    store = Store(tmp_path, context=HERE)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            store.get(step("a", calls=calls))
    assert not store.has(step("a"))
    assert (store.get(step("a", calls=calls)) / "text").read_text() == "a"
    assert calls == ["a"]
    assert store.report(step("a")).spent.seconds > 0
