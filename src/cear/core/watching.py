"""What every epoch of a training comes to, for whoever watches: who does changes nothing in the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one epoch of a training came to."""

    training: str
    """What was trained: `stage1`, `fold 0, rules`, `re-ranker, learning`."""
    epoch: int
    """Its number, from 1."""
    loss: float | None
    """The mean over its steps; None where there is none to tell."""
    valid: float | None
    """What validation said after it; None where it was not asked."""
    seconds: float | None
    """Of this training until the end of the epoch; None where nobody took the time."""


Watch = Callable[[Epoch], None]
"""Told of every epoch when it is over; after an interruption perhaps twice."""


def unwatched(epoch: Epoch) -> None:
    """Nobody watches: the default."""
    del epoch
