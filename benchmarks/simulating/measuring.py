"""Real steps on one and on two processes, for comparison with the clock: trainings, one after the other and beside."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import torch

from cear.core.context import HERE
from cear.data import load
from cear.retrieval import ComplExConfig
from simulating.schedule import Task, makespan

Epochs = Mapping[str, int]


def train(epochs: int) -> float:
    """The seconds of a training of ComplEx on the embedded knowledge base, on one thread."""
    torch.set_num_threads(1)
    kb, start = load("demo"), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        config = ComplExConfig(rank=128, epochs=epochs, validate_every=epochs)
        config.fit(kb, Path(folder), HERE)
    return time.perf_counter() - start


def graph(unit: int) -> tuple[list[Task], Epochs]:
    """Four folds of unequal length, a step after each, and one that waits for all; how long they train."""
    lengths = {"fold 0": 4, "fold 1": 2, "fold 2": 3, "fold 3": 1}
    after = {f"{name}, lists": 1 for name in lengths}
    tasks = [Task(name, 0.0) for name in lengths]
    tasks += [Task(name, 0.0, (name.removesuffix(", lists"),)) for name in after]
    tasks.append(Task("re-ranker", 0.0, tuple(after)))
    return tasks, {name: unit * length for name, length in {**lengths, **after, "re-ranker": 2}.items()}


def performed(tasks: Sequence[Task], epochs: Epochs, workers: int) -> tuple[float, dict[str, float]]:
    """The seconds of the whole graph on so many processes, and of each task."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        [*pool.map(train, [1] * workers)]  # starts and imports, which is not what is measured
        start, seconds = time.perf_counter(), dict[str, float]()
        left, running = list(tasks), dict[Future[float], str]()
        while left or running:
            for task in [each for each in left if seconds.keys() >= set(each.waits_for)][: workers - len(running)]:
                left.remove(task)
                running[pool.submit(train, epochs[task.name])] = task.name
            for ended in wait(running, return_when=FIRST_COMPLETED).done:
                seconds[running.pop(ended)] = ended.result()
        return time.perf_counter() - start, seconds


def slowdown_of_two(epochs: int) -> float:
    """How much longer a training takes beside another: two alone, one after the other, and then both at once."""
    tasks = [Task("one", 0.0), Task("other", 0.0)]
    same = {task.name: epochs for task in tasks}
    alone, together = (sum(performed(tasks, same, workers)[1].values()) for workers in (1, 2))
    return together / alone


def compared(unit: int) -> dict[str, dict[str, float]]:
    """For one and two workers the seconds that were measured, those that the clock tells, and how far they are apart.

    The clock knows what tasks took one after the other, and how much a training suffers from another.
    """
    tasks, epochs = graph(unit)
    slowdown = slowdown_of_two(2 * unit)
    real, seconds = performed(tasks, epochs, 1)
    costed = [replace(task, seconds=seconds[task.name]) for task in tasks]
    found = {"1": (real, makespan(costed, 1)), "2": (performed(tasks, epochs, 2)[0], 0.0)}
    found["2"] = (found["2"][0], makespan(costed, 2, slowdown=slowdown))
    return {
        workers: {"measured": wall, "simulated": told, "error": told / wall - 1, "slowdown": slowdown}
        for workers, (wall, told) in found.items()
    }
