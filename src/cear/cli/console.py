"""Where the command line writes: results to standard output, everything else to standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from cear.core.progress import Bar

console = Console()
errors = Console(stderr=True)


class _RichBar:
    def __init__(self, bars: Progress, task: TaskID) -> None:
        self._bars, self._task = bars, task

    def advance(self, steps: int = 1) -> None:
        self._bars.advance(self._task, steps)

    def describe(self, text: str) -> None:
        self._bars.update(self._task, description=text)


@contextmanager
def resumable() -> Iterator[None]:
    """Say, when the user interrupts the work inside, that it can go on."""
    try:
        yield
    except KeyboardInterrupt:
        errors.print("\nInterrupted. What was done is saved: the same command continues.")
        raise


@contextmanager
def progress_bar(label: str, steps: int, /) -> Iterator[Bar]:
    """A progress bar on standard error, gone when the work is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as bars:
        yield _RichBar(bars, bars.add_task(label, total=steps))
