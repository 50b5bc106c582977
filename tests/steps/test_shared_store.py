"""Steps at an address that machines share: there whole or not at all, and nothing damaged is ever used."""

from __future__ import annotations

import json
import logging
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import fsspec
import pytest

from cear.core.errors import ConfigError, StoreError
from cear.core.seals import flaw_of, write_sealed
from cear.steps import Address, Patience, Step, Store

Opener = Callable[..., Store]
QUICK = Patience(tries=3, seconds=1.0, pause=0.01, lease=0.6)


class Work:
    """A step that writes a file in a folder, and counts how often it is made."""

    def __init__(self, *inputs: Step, number: int = 0) -> None:
        self.made = 0
        self.content = random.Random(number).randbytes(3000)
        self.step = Step(f"work {number}", "kind", {"number": number}, self._make, inputs)

    def _make(self, folder: Path) -> None:
        self.made += 1
        (folder / "deep").mkdir(exist_ok=True)
        (folder / "deep" / "numbers").write_bytes(self.content)

    def is_in(self, store: Store) -> bool:
        return (store.get(self.step) / "deep" / "numbers").read_bytes() == self.content


@pytest.fixture(params=["s3", "memory", "file"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Address:
    """Of every kind: with conditional puts, in memory, and a folder that is shared."""
    if request.param == "s3":
        found: Address = request.getfixturevalue("s3")
        return found
    return Address(f"memory://{tmp_path.name}" if request.param == "memory" else f"file://{tmp_path / 'shared'}", QUICK)


class TestTwoMachines:
    def test_what_one_makes_the_other_finds_with_its_report(self, address: Address, on_machine: Opener) -> None:
        root, work = Work(number=1), Work(number=2)
        top = Step("top", "kind", {"top": 1}, work.step.make, (root.step,))
        first = on_machine("a", address)
        first.get(top)
        second = on_machine("b", address)
        assert second.has(top)
        assert second.is_whole(top)
        assert second.report(top).spent == first.report(top).spent
        assert not [*second.folder.glob("*/*/deep")], "nothing was fetched to learn that"
        folder = second.get(top)
        assert folder.is_relative_to(second.folder)
        assert (folder / "deep" / "numbers").read_bytes() == work.content
        assert flaw_of(folder) is None
        assert (root.made, work.made) == (1, 1)
        assert second.report(top).reused

    def test_a_step_that_is_nowhere_is_none(self, address: Address, on_machine: Opener) -> None:
        store, step = on_machine("a", address), Work().step
        assert (store.has(step), store.is_whole(step), store.flaw(step)) == (False, False, None)

    def test_nothing_is_left_on_its_way(self, address: Address, on_machine: Opener) -> None:
        work = Work()
        for machine in "ab":
            store = on_machine(machine, address)
            assert work.is_in(store)
            assert not [*store.folder.rglob("*.partial")]
        filesystem, path = fsspec.url_to_fs(address.text, use_listings_cache=False)
        names = [each.rpartition("/")[2] for each in filesystem.find(path)]
        assert len(names) == 3, "numbers, step.json and the seal; no lease, nothing temporary"
        assert "seal.json" in names

    def test_a_seal_without_its_files_is_damage_and_files_without_a_seal_are_nothing(
        self, address: Address, on_machine: Opener, caplog: pytest.LogCaptureFixture
    ) -> None:
        work = Work()
        on_machine("a", address).get(work.step)
        filesystem, path = fsspec.url_to_fs(address.text, use_listings_cache=False)
        seal, *blobs = sorted(filesystem.find(path), key=lambda name: not name.endswith("seal.json"))
        filesystem.rm_file(blobs[0])
        assert "is not there" in str(on_machine("b", address).flaw(work.step))
        filesystem.rm_file(seal)
        assert not on_machine("c", address).has(work.step)
        assert work.is_in(on_machine("d", address))
        assert work.made == 2
        assert "damaged" not in caplog.text, "who made it again had found nothing there"

    def test_a_damaged_copy_is_told_never_used_and_made_again(
        self, address: Address, on_machine: Opener, caplog: pytest.LogCaptureFixture
    ) -> None:
        work = Work()
        on_machine("a", address).get(work.step)
        filesystem, path = fsspec.url_to_fs(address.text, use_listings_cache=False)
        [blob] = [name for name in filesystem.find(path) if filesystem.cat_file(name) == work.content]
        filesystem.pipe_file(blob, work.content[:-1] + b"?")
        assert on_machine("b", address).flaw(work.step) == "numbers is not what was written"
        assert work.made == 1, "who only looks makes nothing"
        assert work.is_in(on_machine("c", address))
        assert work.made == 2
        told = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
        assert [text for text in told if str(address) in text and "is damaged and not used" in text]
        assert work.is_in(on_machine("d", address))
        assert work.made == 2, "the copy there is whole again"

    def test_a_damaged_seal_is_damage_too(self, address: Address, on_machine: Opener) -> None:
        work = Work()
        on_machine("a", address).get(work.step)
        filesystem, path = fsspec.url_to_fs(address.text, use_listings_cache=False)
        [seal] = [name for name in filesystem.find(path) if name.endswith("seal.json")]
        filesystem.pipe_file(seal, filesystem.cat_file(seal)[:-9])
        assert work.is_in(on_machine("b", address))
        assert work.is_in(on_machine("c", address))
        assert work.made == 2

    def test_pieces_are_gone_there_when_they_are_joined(self, address: Address, on_machine: Opener) -> None:
        piece = Work(number=1)
        whole = Step("whole", "whole", {}, lambda folder: (folder / "x").write_text("x"), pieces=lambda: [piece.step])
        on_machine("a", address).get(whole)
        later = on_machine("b", address)
        assert (later.has(whole), later.has(piece.step), piece.made) == (True, False, 1)


class TestThisMachine:
    def test_a_damaged_copy_here_is_told_and_fetched_again(
        self, s3: Address, on_machine: Opener, caplog: pytest.LogCaptureFixture
    ) -> None:
        work = Work()
        (on_machine("a", s3).get(work.step) / "deep" / "numbers").write_bytes(b"short")
        assert work.is_in(on_machine("a", s3))
        assert work.made == 1
        assert "work 0 is damaged and fetched again" in caplog.text

    def test_what_is_only_here_is_put_there_the_next_time(
        self, s3: Address, on_machine: Opener, proxy: Any, faults: Any
    ) -> None:
        work, store = Work(), on_machine("a", s3)

        def make(folder: Path) -> None:
            work.step.make(folder)
            proxy.faults = faults(error=1)

        step = Step("work", "kind", {}, make)
        with pytest.raises(StoreError, match="write kind/"):
            store.get(step)
        proxy.faults = faults()
        assert not on_machine("b", s3).has(step)
        on_machine("a", s3).get(step)
        assert work.made == 1, "it was made, and kept here"
        assert on_machine("b", s3).has(step)

    def test_without_a_network_what_is_here_is_used_and_the_rest_told(
        self, s3: Address, on_machine: Opener, proxy: Any, faults: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        work = Work()
        on_machine("a", s3).get(work.step)
        proxy.faults = faults(dropped=1)
        assert work.is_in(on_machine("a", s3))
        assert "work 0 is on this machine, and perhaps not at s3://bucket/" in caplog.text

    def test_a_place_that_is_only_read_is_not_written_to(self, s3: Address, on_machine: Opener, tmp_path: Path) -> None:
        old, new = Work(number=1), Work(number=2)
        on_machine("a", s3).get(old.step)
        store = on_machine("b", tmp_path / "mine", others=[s3])
        assert old.is_in(store)
        assert new.is_in(store)
        assert store.folder == tmp_path / "mine"
        assert not on_machine("c", s3).has(new.step)
        assert (old.made, new.made) == (1, 1)


class TestFailingRequests:
    @pytest.mark.parametrize("kinds", ["error busy dropped", "lost", "truncated flipped"])
    def test_some_cost_time_and_nothing_else(
        self, kinds: str, s3: Address, on_machine: Opener, proxy: Any, faults: Any
    ) -> None:
        proxy.faults = faults(**{kind: 0.3 / len(kinds.split()) for kind in kinds.split()})
        works = [Work(number=number) for number in range(2)]
        patient = Address(s3.text, Patience(tries=12, seconds=1.0, pause=0.01, lease=60))
        for machine in "ab":
            store = on_machine(machine, patient)
            assert all(work.is_in(store) for work in works)
        assert [work.made for work in works] == [1, 1]
        assert all(proxy.counts[kind] > 0 for kind in kinds.split())

    @pytest.mark.parametrize(
        ("fault", "words"),
        [("error", "injected"), ("dropped", ""), ("truncated", "not completed"), ("slow", "it took too long")],
    )
    def test_all_are_a_clear_error_after_a_bounded_number_of_tries(
        self, fault: str, words: str, s3: Address, on_machine: Opener, proxy: Any, faults: Any
    ) -> None:
        work = Work()
        on_machine("a", s3).get(work.step)
        proxy.counts.clear()
        proxy.faults = faults(**{fault: 1.0}, delay=1.5)
        hasty = Address(s3.text, Patience(tries=3, seconds=1.0, pause=0.01))
        with pytest.raises(StoreError) as caught:
            on_machine("b", hasty).get(work.step)
        said = str(caught.value)
        assert said.startswith(f"{s3} could not be asked to read kind/")
        assert "3 tries failed" in said
        assert "run the same command again" in said
        assert words in said
        assert 3 <= proxy.counts["requests"] <= 6, "a connection that was closed meanwhile is opened once more"
        assert work.made == 1

    def test_content_that_never_arrives_as_it_was_is_not_used(
        self, s3: Address, on_machine: Opener, proxy: Any, faults: Any
    ) -> None:
        work = Work()
        on_machine("a", s3).get(work.step)
        proxy.faults = faults(flipped=1.0)
        second = on_machine("b", s3)
        with pytest.raises((StoreError, AssertionError)):
            assert second.flaw(work.step) is None
        assert not [*second.folder.glob("*/*")]

    def test_what_is_spoiled_on_its_way_there_is_found_by_whoever_fetches_it(
        self, s3: Address, on_machine: Opener, proxy: Any, faults: Any
    ) -> None:
        work = Work()
        proxy.faults = faults(spoiled=1.0)
        with suppress(StoreError):  # S3 may notice by itself
            on_machine("a", s3).get(work.step)
        proxy.faults = faults()
        assert work.is_in(on_machine("b", s3))
        assert work.is_in(on_machine("c", s3))

    def test_a_bucket_that_is_not_there_is_an_error_at_once(self, proxy: Any, on_machine: Opener) -> None:
        with pytest.raises(StoreError, match=r"s3://nowhere/steps is not there"):
            on_machine("a", Address("s3://nowhere/steps", QUICK)).get(Work().step)
        assert proxy.counts["requests"] < 6


@pytest.mark.parametrize("name", ["../../outside", "/outside", "a/../../outside", "C:\\outside", ""])
def test_a_seal_that_leads_out_of_its_folder_is_refused(name: str, on_machine: Opener, tmp_path: Path) -> None:
    work, address = Work(), Address(f"memory://{tmp_path.name}", QUICK)
    on_machine("a", address).get(work.step)
    filesystem, path = fsspec.url_to_fs(address.text)
    [seal] = [each for each in filesystem.find(path) if each.endswith("seal.json")]
    files = json.loads(filesystem.cat_file(seal))["files"]
    write_sealed(tmp_path / "seal.json", {"files": files | {name: files["step.json"]}})
    filesystem.put_file(str(tmp_path / "seal.json"), seal)
    store = on_machine("b", address)
    assert store.flaw(work.step) == "seal.json is not what was written"
    assert not [*tmp_path.rglob("outside")]


def test_an_address_that_nothing_reads_says_what_to_install(on_machine: Opener) -> None:
    with pytest.raises(ConfigError, match=r"nosuch://x cannot be opened: .*cear\[cluster\]"):
        on_machine("a", "nosuch://x").get(Work().step)


def test_without_the_extra_folders_work_and_an_address_says_what_is_missing(
    on_machine: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("fsspec", "fsspec.core", "s3fs"):
        monkeypatch.setitem(sys.modules, module, None)  # importing it fails
    assert Work().is_in(on_machine("a", tmp_path / "folder"))
    with pytest.raises(ConfigError, match=r"s3://bucket/x cannot be opened: .*pip install 'cear\[cluster\]'"):
        on_machine("a", "s3://bucket/x").get(Work().step)


def test_a_seal_that_was_damaged_there_is_mended_by_who_has_the_step(on_machine: Opener, tmp_path: Path) -> None:
    work, address = Work(), Address(f"memory://{tmp_path.name}", QUICK)
    on_machine("a", address).get(work.step)
    filesystem, path = fsspec.url_to_fs(address.text)
    [seal] = [each for each in filesystem.find(path) if each.endswith("seal.json")]
    filesystem.pipe_file(seal, b"{}")
    assert work.is_in(on_machine("a", address))
    assert work.is_in(on_machine("b", address))
    assert work.made == 1
