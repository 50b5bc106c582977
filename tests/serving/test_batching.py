"""Requests in one pass: together, in order, bounded, and each with its own answer or error."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest

from cear.core.errors import DataError, OutOfTime
from cear.serving import Batcher, Busy


class Doubling:
    """Doubles numbers, refuses 13, and remembers its passes."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.passes: list[list[int]] = []
        self.seconds = seconds

    def __call__(self, questions: Sequence[int]) -> list[int]:
        self.passes.append([*questions])
        time.sleep(self.seconds)
        if 13 in questions:
            raise DataError("13 is refused")
        return [2 * each for each in questions]


def test_who_waits_together_is_answered_in_one_pass() -> None:
    async def several(work: Doubling) -> list[int]:
        batcher = Batcher(work, wait=0.05)
        answers = await asyncio.gather(*(batcher.ask(each) for each in range(10)))
        await batcher.close()
        return answers

    work = Doubling()

    assert asyncio.run(several(work)) == [2 * each for each in range(10)]
    assert work.passes == [[*range(10)]]


def test_no_pass_is_larger_than_said() -> None:
    async def several(work: Doubling) -> None:
        batcher = Batcher(work, most=4, wait=0.05)
        await asyncio.gather(*(batcher.ask(each) for each in range(10)))
        await batcher.close()

    work = Doubling()
    asyncio.run(several(work))

    assert [len(each) for each in work.passes] == [4, 4, 2]


def test_a_bad_question_fails_alone() -> None:
    async def several() -> list[int | BaseException]:
        batcher = Batcher(Doubling(), wait=0.05)
        return await asyncio.gather(*(batcher.ask(each) for each in (1, 13, 2)), return_exceptions=True)

    one, bad, two = asyncio.run(several())

    assert (one, two) == (2, 4)
    assert isinstance(bad, DataError)


def test_when_the_queue_is_full_it_says_when_to_come_again() -> None:
    async def too_many() -> list[int | BaseException]:
        batcher = Batcher(Doubling(seconds=0.1), room=3)
        return await asyncio.gather(*(batcher.ask(each) for each in range(5)), return_exceptions=True)

    answers = asyncio.run(too_many())
    refused = [each for each in answers if isinstance(each, Busy)]

    assert answers[:3] == [0, 2, 4]
    assert [each.seconds for each in refused] == [1, 1]


def test_who_gave_up_costs_no_work() -> None:
    async def one_leaves(work: Doubling) -> int:
        batcher = Batcher(work, most=1)
        first = asyncio.create_task(batcher.ask(1))
        await asyncio.sleep(0.05)
        leaves, stays = asyncio.create_task(batcher.ask(2)), asyncio.create_task(batcher.ask(3))
        await asyncio.sleep(0)
        leaves.cancel()
        await first
        return await stays

    work = Doubling(seconds=0.2)

    assert asyncio.run(one_leaves(work)) == 6
    assert work.passes == [[1], [3]]


def test_a_deadline_is_told() -> None:
    async def late() -> None:
        batcher = Batcher(Doubling(seconds=0.2), most=1, patience=0.1)
        first = asyncio.create_task(batcher.ask(1))
        await asyncio.sleep(0.05)
        with pytest.raises(OutOfTime, match="not ready in time"):
            await batcher.ask(2)
        assert await first == 2

    asyncio.run(late())


def test_closing_answers_who_waits_and_refuses_who_comes() -> None:
    async def closing() -> tuple[list[int], bool]:
        batcher = Batcher(Doubling(seconds=0.05), most=1)
        asked = [asyncio.create_task(batcher.ask(each)) for each in range(3)]
        await asyncio.sleep(0.01)
        await batcher.close()
        try:
            await batcher.ask(4)
        except Busy:
            return await asyncio.gather(*asked), True
        return [], False

    assert asyncio.run(closing()) == ([0, 2, 4], True)
