"""Requests that wait at the same time are answered in one pass: a bounded queue before one worker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic
from typing import Generic, TypeVar

from cear.core.errors import CearError, OutOfTime

Q = TypeVar("Q")
A = TypeVar("A")


class Busy(CearError):
    """More requests wait than there is room for; `seconds` is when to come again."""

    def __init__(self, waiting: int, seconds: int) -> None:
        super().__init__(f"{waiting:,} requests wait already. Come again in {seconds} s.")
        self.seconds = seconds


@dataclass(frozen=True)
class _Waiting(Generic[Q, A]):
    """A question and where its answer goes."""

    question: Q
    answer: asyncio.Future[A]
    deadline: float


class Batcher(Generic[Q, A]):
    """Answers questions one pass at a time, each pass as many as wait.

    `work` answers a whole batch, in its order; what it raises for a batch of several is asked again one by one, so that
    a bad question fails alone. Whoever gave up (a cancelled future) or is past the deadline costs no work.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Q]], Sequence[A]],
        *,
        most: int = 64,
        room: int = 256,
        wait: float = 0.003,
        patience: float = 10.0,
    ) -> None:
        self._work, self._most, self._room, self._wait, self._patience = work, most, room, wait, patience
        self._queue: asyncio.Queue[_Waiting[Q, A]] = asyncio.Queue()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ranker")
        self._loop: asyncio.Task[None] | None = None
        self._closing = False
        self._seconds = 0.0  # of the last pass, for who asks when to come again

    @property
    def waiting(self) -> int:
        """How many questions are in the queue."""
        return self._queue.qsize()

    async def ask(self, question: Q) -> A:
        """The answer, or `Busy` at once when the queue is full, or `OutOfTime` past the deadline."""
        if self._closing or self.waiting >= self._room:
            raise Busy(self.waiting, max(1, round(self._seconds * self.waiting / self._most)))
        if self._loop is None:
            self._loop = asyncio.create_task(self._serve())
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(question, answer, monotonic() + self._patience)
        self._queue.put_nowait(waiting)
        return await answer

    async def close(self) -> None:
        """Answer everybody who waits, then stop."""
        self._closing = True
        if self._loop is not None:
            await self._queue.join()
            self._loop.cancel()
        self._thread.shutdown()

    async def _serve(self) -> None:
        while True:
            batch = await self._next()
            try:
                await self._answer([each for each in batch if _still_wanted(each)])
            finally:
                for _ in batch:
                    self._queue.task_done()

    async def _next(self) -> list[_Waiting[Q, A]]:
        """Who waits now, and who comes within a moment; at least one, and never more than a pass takes."""
        batch = [await self._queue.get()]
        if self._queue.empty():
            await asyncio.sleep(self._wait)
        while len(batch) < self._most and not self._queue.empty():
            batch.append(self._queue.get_nowait())
        return batch

    async def _answer(self, batch: Sequence[_Waiting[Q, A]]) -> None:
        if not batch:
            return
        began = monotonic()
        try:
            answers = await self._in_thread([each.question for each in batch])
        except Exception as error:
            if len(batch) > 1:
                for each in batch:
                    await self._answer([each])
            elif not batch[0].answer.done():
                batch[0].answer.set_exception(error)
            return
        self._seconds = monotonic() - began
        for each, answer in zip(batch, answers, strict=True):
            if not each.answer.done():  # its client may have left meanwhile
                each.answer.set_result(answer)

    async def _in_thread(self, questions: Sequence[Q]) -> Sequence[A]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._work, questions)


def _still_wanted(waiting: _Waiting[Q, A]) -> bool:
    """Whether somebody waits for the answer; who has waited too long is told."""
    if waiting.answer.done():
        return False
    if monotonic() > waiting.deadline:
        waiting.answer.set_exception(OutOfTime("The answer was not ready in time: the service is busy. Ask again."))
        return False
    return True
