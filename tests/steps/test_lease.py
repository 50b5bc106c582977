"""A lock that survives its owner: held as long as it is renewed, taken over when it is not, and never a guarantee."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cear.core.seals import flaw_of
from cear.steps import Address, Patience, Step, Store
from cear.steps.lease import Lease
from cear.steps.objects import Objects

SHORT = Patience(tries=3, seconds=1.0, pause=0.01, lease=0.6)
Opener = Callable[..., Store]


@pytest.fixture(params=["s3", "memory"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    text = request.getfixturevalue("s3").text if request.param == "s3" else f"memory://{tmp_path.name}"
    return Objects(Address(text, SHORT))


class TestConditions:
    def test_of_those_who_create_a_name_the_first_succeeds(self, objects: Objects) -> None:
        assert objects.create("a", b"one")
        assert not objects.create("a", b"two")
        found = objects.read("a")
        assert found is not None
        assert found.data == b"one"

    def test_who_asks_again_because_no_answer_came_has_succeeded(self, objects: Objects) -> None:
        assert objects.create("a", b"one")
        assert objects.create("a", b"one")

    def test_a_name_is_replaced_by_who_knows_what_it_holds(self, objects: Objects) -> None:
        objects.create("a", b"one")
        known = objects.read("a")
        assert known is not None
        assert objects.replace("a", b"two", known.tag)
        assert not objects.replace("a", b"three", known.tag)
        objects.delete("a")
        assert objects.read("a") is None
        assert not objects.replace("a", b"three", known.tag)
        objects.delete("a")

    def test_on_s3_one_of_many_at_the_same_moment_succeeds(self, s3: Address) -> None:
        objects, won = Objects(s3), list[bool]()
        known = None
        for request in range(2):
            won.clear()
            tag = "" if known is None else known.tag

            def one(number: int, request: int = request, tag: str = tag) -> None:
                data = f"{request} {number}".encode()
                won.append(objects.replace("a", data, tag) if tag else objects.create("a", data))

            threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(won) == [False, False, False, True]
            known = objects.read("a")
            assert known is not None


def test_a_service_without_conditions_is_used_with_a_look_before_and_told(
    s3: Address, proxy: Any, faults: Any, on_machine: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    proxy.faults = faults(without_conditions=True)
    objects = Objects(s3)
    assert objects.create("a", b"one")
    assert not objects.create("a", b"two")
    step = Step("work", "kind", {}, lambda folder: (folder / "x").write_text("whole") and None)
    for machine in "ab":
        assert (on_machine(machine, s3).get(step) / "x").read_text() == "whole"
    assert "knows no conditional requests: two machines may make the same step" in caplog.text


class TestLease:
    def test_is_held_by_one_while_he_lives_and_given_back(self, objects: Objects) -> None:
        first, second = Lease(objects, "lease"), Lease(objects, "lease")
        assert first.take()
        with first:
            end = time.monotonic() + 2 * SHORT.lease
            while time.monotonic() < end:
                assert not second.take()
                time.sleep(0.1)
        assert second.take()

    def test_of_a_dead_owner_is_taken_over_after_its_length(
        self, objects: Objects, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert Lease(objects, "lease").take(), "and then he died"
        second, start = Lease(objects, "lease"), time.monotonic()
        while not second.take():
            time.sleep(0.05)
        assert time.monotonic() - start >= SHORT.lease
        assert "gave no sign of life" in caplog.text

    def test_says_who_has_it_and_until_when(self, objects: Objects) -> None:
        assert Lease(objects, "lease").take()
        there = objects.read("lease")
        assert there is not None
        said = json.loads(there.data)
        assert {"owner", "renewed", "expires"} <= set(said)
        assert Lease(objects, "lease").owner() == said["owner"]

    def test_whoever_lost_it_leaves_it_to_the_new_owner_and_is_told(
        self, objects: Objects, caplog: pytest.LogCaptureFixture
    ) -> None:
        first = Lease(objects, "lease")
        assert first.take()
        with first:
            objects.delete("lease")
            assert Lease(objects, "lease").take()
            while "was taken over" not in caplog.text:
                time.sleep(0.05)
        assert objects.read("lease") is not None


class TestSteps:
    def test_a_second_machine_waits_is_told_and_finds_what_the_first_made(
        self, s3: Address, on_machine: Opener, caplog: pytest.LogCaptureFixture
    ) -> None:
        made: list[str] = []

        def step(name: str) -> Step:
            def make(folder: Path) -> None:
                made.append(name)
                time.sleep(1.0)
                (folder / "x").write_text("whole")

            return Step("slow", "kind", {}, make)

        first, second = on_machine("a", s3), on_machine("b", s3)
        thread = threading.Thread(target=first.get, args=(step("first"),))
        thread.start()
        while not made:
            time.sleep(0.02)
        assert (second.get(step("second")) / "x").read_text() == "whole"
        thread.join()
        assert made == ["first"]
        assert "is making slow for s3://bucket/" in caplog.text

    def test_what_a_dead_machine_was_making_is_made_by_the_next(self, s3: Address, on_machine: Opener) -> None:
        step = Step("work", "kind", {}, lambda folder: (folder / "x").write_text("whole") and None)
        name = f"kind/{step.key[:32]}/lease.json"
        assert Lease(Objects(s3), name).take(), "and then it died"
        assert (on_machine("b", s3).get(step) / "x").read_text() == "whole"
        assert Objects(s3).read(name) is None

    def test_a_race_that_is_lost_costs_work_and_no_result(
        self, s3: Address, on_machine: Opener, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Both believe that they hold the lease, and what they make is not even the same."""
        caplog.set_level(logging.WARNING)
        both = threading.Barrier(2)

        def step(text: str) -> Step:
            def make(folder: Path) -> None:
                both.wait(30)
                (folder / "x").write_text(text)

            return Step("raced", "kind", {}, make)

        first, second = on_machine("a", s3), on_machine("b", s3)
        thread = threading.Thread(target=first.get, args=(step("from the first"),))
        thread.start()
        while Objects(s3).read(f"kind/{step('').key[:32]}/lease.json") is None:
            time.sleep(0.02)
        Objects(s3).delete(f"kind/{step('').key[:32]}/lease.json")
        second.get(step("from the second"))
        thread.join()
        third = on_machine("c", s3)
        folder = third.get(Step("raced", "kind", {}, lambda _: pytest.fail("it is there")))
        assert flaw_of(folder) is None, "all of it is from one of them"
        assert (folder / "x").read_text() in ("from the first", "from the second")
