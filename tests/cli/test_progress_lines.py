"""Progress where standard error is a file: a line now and then, and none for short work."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import pytest
from rich.console import Console

from cear.cli.console import progress_bar, progress_lines

MODULE = import_module("cear.cli.console")  # the door has a console of the same name


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What time it is, in its only place."""
    now = [1000.0]
    monkeypatch.setattr(MODULE, "time", SimpleNamespace(monotonic=lambda: now[0]))
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


def test_on_a_terminal_there_is_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(MODULE, "errors", Console(stderr=True, force_terminal=True))
    with progress_bar("Training", 2) as bar:
        bar.advance()
    assert "Training" in capsys.readouterr().err
