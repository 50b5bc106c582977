"""Where the command line writes: results to standard output, everything else to standard error."""

from __future__ import annotations

import gc
import io
import logging
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import rich.text
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from cear.core.progress import EVERY, FIRST, Bar, lines
from cear.core.shown import shown

log = logging.getLogger("cear.cli")

console = Console(emoji=False)  # ":cat:" in a name stays what it is
errors = Console(stderr=True, emoji=False)

PATIENCE = 10.0  # minutes that a ranking may take unasked
YES = "Start a ranking by a slow Stage 1 even if it takes longer than ten minutes."


def show_safely() -> None:
    """See to it that what this process shows is escaped, and spelled with the characters that its output has.

    Rich hands every text to one function, which drops five control characters and lets the others through. Ours takes
    its place, so that no table, message, log line or bar goes past it, nor one of Typer's. Colours are not text.
    """
    rich.text.strip_control_codes = shown  # type: ignore[assignment, attr-defined]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if rich.text.Text("\x1b").plain == "\x1b":
        log.warning("This version of rich shows names unescaped. Install the one that cear was tested with: rich 15.")


class _RichBar:
    def __init__(self, bars: Progress, task: TaskID) -> None:
        self._bars, self._task = bars, task

    def advance(self, steps: int = 1) -> None:
        self._bars.advance(self._task, steps)

    def describe(self, text: str) -> None:
        self._bars.update(self._task, description=text)


@contextmanager
def loading() -> Iterator[None]:
    """No look for garbage while modules load: they leave next to none, and the looks take a sixth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def resumable() -> Iterator[None]:
    """Say, when the user interrupts the work inside, that it can go on."""
    try:
        yield
    except KeyboardInterrupt:
        errors.print("\nInterrupted. What was done is saved: the same command continues.")
        raise


def progress_lines(
    label: str, steps: int, /, *, first: float = FIRST, every: float = EVERY
) -> AbstractContextManager[Bar]:
    """Plain lines on standard error: after `first` seconds, then `every` so many, and one when long work ends."""
    return lines(label, steps, say=_say, first=first, every=every)


def _say(line: str) -> None:
    errors.print(line, markup=False, highlight=False, soft_wrap=True)


def progress_bar(label: str, steps: int, /) -> AbstractContextManager[Bar]:
    """A progress bar on standard error, gone when the work is done; plain lines where standard error is no terminal."""
    return _drawn(label, steps) if errors.is_terminal else progress_lines(label, steps)


@contextmanager
def _drawn(label: str, steps: int) -> Iterator[Bar]:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as bars:
        yield _RichBar(bars, bars.add_task(label, total=steps))
