"""Damaged steps: told, never used, and made again by whoever asks for them."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cear.core.context import HERE
from cear.steps import Step, Store

Damage = Callable[[Path], object]


def flip(path: Path) -> None:
    """One bit, in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


DAMAGES: dict[str, Damage] = {
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "emptied": lambda path: path.write_bytes(b""),
    "flipped": flip,
    "garbage": lambda path: path.write_bytes(b"\x93garbage\0" * 9),
}


class Work:
    """A step that writes ten bytes, and counts how often it is made."""

    def __init__(self, *inputs: Step) -> None:
        self.made = 0
        self.step = Step("work", "kind", {"of": len(inputs)}, self._make, inputs)

    def _make(self, folder: Path) -> None:
        self.made += 1
        (folder / "deep").mkdir(exist_ok=True)
        (folder / "deep" / "numbers").write_bytes(b"0123456789")


def store_in(folder: Path, *others: Path) -> Store:
    return Store(folder, others=others, context=HERE)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("name", ["deep/numbers", "step.json", "seal.json"])
def test_any_damaged_file_is_told_and_the_step_is_made_again(
    damage: Damage, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    work = Work()
    folder = store_in(tmp_path).get(work.step)
    damage(folder / name)
    again = store_in(tmp_path)
    assert (again.get(work.step) / "deep" / "numbers").read_bytes() == b"0123456789"
    assert again.get(work.step)
    assert work.made == 2
    told = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert len(told) == 1
    assert told[0].startswith("work is damaged and not used: ")
    assert str(folder) in told[0]
    assert store_in(tmp_path).flaw(work.step) is None


def test_a_file_that_is_gone_is_damage_and_one_that_came_later_is_none(tmp_path: Path) -> None:
    work = Work()
    folder = store_in(tmp_path).get(work.step)
    (folder / "later").write_text("x")
    assert store_in(tmp_path).flaw(work.step) is None
    (folder / "deep" / "numbers").unlink()
    assert store_in(tmp_path).flaw(work.step) == "numbers is not there"


def test_who_only_looks_is_told_what_is_damaged_and_nothing_is_made(tmp_path: Path) -> None:
    work = Work()
    flip(store_in(tmp_path).get(work.step) / "deep" / "numbers")
    store = store_in(tmp_path)
    assert store.flaw(work.step) == "numbers is not what was written (10 bytes, then 10)"
    assert store.has(work.step), "its report is whole, and says what it cost"
    assert store.report(work.step).name == "work"
    assert work.made == 1


def test_a_whole_copy_elsewhere_is_used_instead(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    work = Work()
    folder = store_in(tmp_path / "mine").get(work.step)
    shutil.copytree(tmp_path / "mine", tmp_path / "other")
    flip(folder / "deep" / "numbers")
    store = store_in(tmp_path / "mine", tmp_path / "other")
    assert store.get(work.step).is_relative_to(tmp_path / "other")
    assert store.flaw(work.step) is None
    assert work.made == 1
    assert "work is damaged and not used" in caplog.text


def test_steps_of_before_there_were_seals_are_used_as_they_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    work = Work()
    folder = store_in(tmp_path).get(work.step)
    (folder / "seal.json").unlink()
    assert store_in(tmp_path).get(work.step) == folder
    assert (work.made, caplog.text) == (1, "")


@pytest.mark.parametrize("report", [None, [], {}, {"key": 1}, {"schema": 1, "key": None}])
def test_a_foreign_report_without_a_seal_is_told(
    report: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    work = Work()
    folder = store_in(tmp_path).get(work.step)
    (folder / "seal.json").unlink()
    (folder / "step.json").write_text(json.dumps(report))
    store_in(tmp_path).get(work.step)
    assert work.made == 2
    assert "step.json cannot be read" in caplog.text


def test_damaged_on_its_way_into_its_place_it_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    work = Work()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            store_in(tmp_path).get(work.step)
    [left] = tmp_path.glob("kind/*.partial/deep/numbers")
    flip(left)
    assert (store_in(tmp_path).get(work.step) / "deep" / "numbers").read_bytes() == b"0123456789"
    assert work.made == 2
    assert "work is damaged and made again" in caplog.text


@pytest.mark.parametrize("content", [b"", b"[]", b'{"seconds": "long"}', b'{"seconds": 3.5, "seal": "0"}'])
def test_a_damaged_account_of_an_interrupted_try_is_told_and_not_counted(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[int] = []

    def make(folder: Path) -> None:
        (folder / "x").write_text("x")
        tries.append(1)
        if len(tries) == 1:
            raise KeyboardInterrupt

    step = Step("work", "kind", {}, make)
    with pytest.raises(KeyboardInterrupt):
        store_in(tmp_path).get(step)
    [account] = tmp_path.glob("kind/*.partial/spent.json")
    account.write_bytes(content)
    store = store_in(tmp_path)
    store.get(step)
    assert store.report(step).spent.seconds < 3
    assert "spent.json is damaged and made again" in caplog.text
