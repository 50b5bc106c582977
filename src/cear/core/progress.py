"""How long work reports on itself: a room calls `progress(label, steps)`, the caller decides what it looks like."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

log = logging.getLogger("cear.progress")

FIRST, EVERY = 10.0, 30.0  # seconds until work says something, and between two lines


class Bar(Protocol):
    """The progress of one piece of work."""

    def advance(self, steps: int = 1) -> None:
        """Some steps are done."""

    def describe(self, text: str) -> None:
        """What to show beside the bar."""


class Progress(Protocol):
    """Opens a bar."""

    def __call__(self, label: str, steps: int, /) -> AbstractContextManager[Bar]:
        """A bar of so many steps, closed when the block ends."""


class _SilentBar:
    def advance(self, steps: int = 1) -> None:
        pass

    def describe(self, text: str) -> None:
        pass


@contextmanager
def silent(label: str, steps: int, /) -> Iterator[Bar]:
    """Show nothing: the default in Python and in tests."""
    del label, steps
    yield _SilentBar()


@contextmanager
def lines(
    label: str, steps: int, /, *, say: Callable[[str], None], first: float = FIRST, every: float = EVERY
) -> Iterator[Bar]:
    """A line after `first` seconds, then `every` so many even within one step, and one when long work ends."""
    told = _Lines(label, steps, say, first, every)
    beat = threading.Thread(target=told.beat, daemon=True)
    beat.start()
    try:
        yield told
    finally:
        told.stop()
        beat.join()
    told.close(first)


def logged(label: str, steps: int, /) -> AbstractContextManager[Bar]:
    """Such lines in the log, logger `cear.progress`, level INFO: for notebooks, services and whoever keeps logs.

    `cear.run(config, out, progress=logged)`, after `logging.basicConfig(level="INFO")`.
    """
    return lines(label, steps, say=log.info)


class _Lines:
    """Progress in words: a line when work has taken a while, and then now and again."""

    def __init__(self, label: str, steps: int, say: Callable[[str], None], first: float, every: float) -> None:
        self._label, self._steps, self._say, self._every = label, steps, say, every
        self._done, self._begun = 0, time.monotonic()
        self._due = self._begun + first
        self._from: tuple[int, float] | None = None  # where the rate starts: resumed work first jumps ahead
        self._saying, self._stopped = threading.Lock(), threading.Event()

    def advance(self, steps: int = 1) -> None:
        self._done += steps
        now = time.monotonic()
        self._from = self._from or (self._done, now)
        self._speak(now)

    def describe(self, text: str) -> None:
        self._label = text

    def beat(self) -> None:
        """Until it is stopped, say a line whenever one is due: one step may take longer than that."""
        while not self._stopped.wait(min(1.0, self._every / 4)):
            self._speak(time.monotonic())

    def stop(self) -> None:
        """Say nothing any more by itself."""
        self._stopped.set()

    def close(self, least: float) -> None:
        """Say how long the work took, if it was at least so many seconds."""
        seconds = time.monotonic() - self._begun
        if seconds >= least:
            self._say(f"{self._label}: ended at {self._share()}, after {seconds / 60:.1f} minutes")

    def _speak(self, now: float) -> None:
        if now < self._due:  # nearly always, and then without a lock
            return
        with self._saying:
            if now >= self._due:
                self._due = now + self._every
                self._say(f"{self._label}: {self._share()}{self._left(now)}")

    def _share(self) -> str:
        return f"{self._done:,}/{self._steps:,}, {self._done / max(self._steps, 1):.0%}"

    def _left(self, now: float) -> str:
        done, at = self._from or (0, self._begun)
        if self._done == done:
            return ""
        return f", {(now - at) / (self._done - done) * (self._steps - self._done) / 60:.1f} minutes left"
