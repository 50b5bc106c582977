"""A graph of tasks on a number of workers, in the order in which an executor would send them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """Work that one worker does in one go."""

    name: str
    seconds: float
    waits_for: tuple[str, ...] = ()


def makespan(tasks: Sequence[Task], workers: int, *, slowdown: float = 1.0, overhead: float = 0.0) -> float:
    """The seconds until all is done, when whoever is free takes the first task that waits for nothing.

    With more than one worker every task takes `slowdown` times as long: workers that share a machine share its memory.
    `overhead` is added to each task.

    >>> makespan([Task("a", 2), Task("b", 2), Task("both", 1, ("a", "b"))], 2)
    3.0
    """
    factor = slowdown if workers > 1 else 1.0
    left, running, now = list(tasks), list[tuple[float, int, str]](), 0.0
    done: set[str] = set()
    while left or running:
        for task in [each for each in left if done.issuperset(each.waits_for)][: workers - len(running)]:
            left.remove(task)
            heapq.heappush(running, (now + factor * task.seconds + overhead, len(left), task.name))
        if not running:
            raise ValueError(f"Tasks wait for what is not there: {sorted(each.name for each in left)}.")
        now, _, name = heapq.heappop(running)
        done.add(name)
    return float(now)


def critical_path(tasks: Sequence[Task]) -> float:
    """The seconds that no number of workers goes below: the longest chain of tasks."""
    return makespan(tasks, max(len(tasks), 1))
