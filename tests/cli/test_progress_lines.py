"""Progress where standard error is a file: a line now and then, and none for short work."""

from __future__ import annotations

import time
from importlib import import_module
from types import SimpleNamespace

import pytest
from rich.console import Console

from cear import core
from cear.cli.console import progress_bar, progress_lines
from cear.core.progress import lines, logged

CONSOLE = import_module("cear.cli.console")  # the door has a console of the same name


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What time it is, in its only place."""
    now = [1000.0]
    monkeypatch.setattr(core.progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def work(clock: list[float], steps: int, seconds: float) -> None:
    with progress_bar("Training", steps) as bar:
        for _ in range(steps):
            clock[0] += seconds
            bar.advance()


def test_short_work_says_nothing(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    work(clock, steps=9, seconds=1)
    assert capsys.readouterr() == ("", "")


def test_long_work_says_something_after_ten_seconds_then_every_thirty_and_at_its_end(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    work(clock, steps=960, seconds=0.125)
    out, err = capsys.readouterr()
    assert (out, err.splitlines()) == (
        "",
        [
            "Training: 80/960, 8%, 1.8 minutes left",
            "Training: 320/960, 33%, 1.3 minutes left",
            "Training: 560/960, 58%, 0.8 minutes left",
            "Training: 800/960, 83%, 0.3 minutes left",
            "Training: ended at 960/960, 100%, after 2.0 minutes",
        ],
    )


def test_what_was_done_before_an_interruption_is_no_speed(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_lines("Training", 100, first=60) as bar:
        bar.advance(90)
        for _ in range(2):
            clock[0] += 60
            bar.advance()
        bar.describe("[epoch 3]")
    assert capsys.readouterr().err.splitlines() == [
        "Training: 91/100, 91%, 9.0 minutes left",
        "Training: 92/100, 92%, 8.0 minutes left",
        "[epoch 3]: ended at 92/100, 92%, after 2.0 minutes",
    ]


def test_work_of_one_long_step_has_no_speed_yet(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    work(clock, steps=1, seconds=90)
    assert capsys.readouterr().err.splitlines() == [
        "Training: 1/1, 100%",
        "Training: ended at 1/1, 100%, after 1.5 minutes",
    ]


def test_a_step_that_takes_long_is_told_of_while_it_lasts() -> None:
    told: list[str] = []
    with lines("Training", 3, say=told.append, first=0.01, every=0.02):
        began = time.monotonic()
        while len(told) < 3:
            assert time.monotonic() < began + 30
            time.sleep(0.01)
    during = told[:-1]
    assert during == ["Training: 0/3, 0%"] * len(during)
    assert told[-1].startswith("Training: ended at 0/3")


def test_work_that_fails_says_nothing_more() -> None:
    told: list[str] = []
    with pytest.raises(RuntimeError), lines("Training", 3, say=told.append, first=0.0, every=60.0):
        raise RuntimeError
    assert not [line for line in told if "ended" in line]


def test_in_python_the_lines_may_go_to_the_log(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="cear")
    with logged("Training", 2) as bar:
        clock[0] += 20
        bar.advance()
    assert [(record.name, record.getMessage()) for record in caplog.records] == [
        ("cear.progress", "Training: 1/2, 50%"),
        ("cear.progress", "Training: ended at 1/2, 50%, after 0.3 minutes"),
    ]


def test_on_a_terminal_there_is_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(CONSOLE, "errors", Console(stderr=True, force_terminal=True))
    with progress_bar("Training", 2) as bar:
        bar.advance()
    assert "Training" in capsys.readouterr().err
