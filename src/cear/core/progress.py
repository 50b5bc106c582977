"""How long work reports on itself: a room calls `progress(label, steps)`, the caller decides what it looks like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


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
