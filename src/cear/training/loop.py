"""One training loop for every stage: epochs, validation, the best weights, early stop, checkpoints, resume.

A task draws its random numbers from (seed, epoch, step) alone, so the state of a training is the weights, the
optimiser and a place (epoch, step): one file, written atomically. Killed at any moment, a training goes on
from its last checkpoint to the same result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from cear.core.context import HERE, Context
from cear.core.devices import device_of
from cear.core.errors import OutOfTime
from cear.core.files import remove_leftovers
from cear.core.keys import content_key
from cear.core.memory import give_back_memory, prepare_for_training
from cear.core.tensors import load_state
from cear.core.watching import Epoch
from cear.training.checkpoints import Checkpoint, State, load_weights
from cear.training.workers import Workers

Part = Callable[[], Tensor]
"""Computes what some of a batch adds to its loss, with gradients."""


class Task(Protocol):
    """What a stage tells the loop."""

    @property
    def model(self) -> nn.Module:
        """What is trained."""

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """What trains it."""

    def __len__(self) -> int:
        """The number of steps in an epoch."""

    def steps(self, epoch: int, *, first: int, parts: int) -> Iterator[Sequence[Part]]:
        """The steps of an epoch from step `first` on; the losses of the parts of a step add up to its loss."""

    def validate(self) -> float:
        """How good the model is now; higher is better."""


@dataclass(frozen=True)
class Schedule:
    """How long to train and how often to look."""

    epochs: int
    validate_every: int
    patience: int
    checkpoint_seconds: float = 60.0
    """Between two checkpoints inside an epoch; every epoch ends with one. Changes nothing in the result."""


def fit(task: Task, schedule: Schedule, folder: Path, *, key: Sequence[Any] = (), context: Context = HERE) -> State:
    """Train until the schedule ends, leave the best weights in the model, and return how it went.

    `folder` keeps the checkpoint; a training of the same key (settings, data, seed) continues there. One that is not
    done at its deadline is saved and raises `OutOfTime`; every call takes at least one step, so that it ends some day.
    """
    remove_leftovers(folder)
    prepare_for_training()
    workers = Workers(cpu=context.device == "cpu")
    checkpoint = Checkpoint(task.model, task.optimizer, folder, content_key(*key, context.seed), workers)
    state = checkpoint.resume()
    clock = _Clock(state.seconds, schedule.checkpoint_seconds)
    with context.progress("Training", schedule.epochs * len(task)) as bar:
        bar.advance(state.epoch * len(task) + state.step)
        while not state.done:
            for _ in _steps(task, state, workers, context.accumulate):
                bar.advance(1)
                if workers.total(torch.tensor(float(context.deadline.passed()))) > 0:
                    checkpoint.save(state, seconds=clock.now())
                    raise OutOfTime(
                        f"The time is over in epoch {state.epoch + 1}, step {state.step} of the training in {folder}. "
                        "Everything is saved: the same command continues."
                    )
                if clock.rings():
                    checkpoint.save(state, seconds=clock.now())
            give_back_memory()
            closed = _close_epoch(task, schedule, state, checkpoint)
            if workers.is_main:  # before the checkpoint: an epoch may be told twice, and none is left out
                seconds = clock.now()
                context.watch(Epoch(context.training, state.epoch, closed["loss"], closed.get("valid"), seconds))
            bar.describe(f"epoch {state.epoch}: best on validation {state.best:.4f}")
            checkpoint.save(state, seconds=clock.now())
    workers.wait()
    load_state(task.model, load_weights(folder))
    return state


@contextmanager
def seeded(*seeds: int) -> Iterator[None]:
    """PyTorch's random numbers, such as dropout, as a function of these seeds; outside they go on undisturbed."""
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(int(np.random.default_rng(seeds).integers(2**62)))
        yield


def set_rates(optimizer: torch.optim.Optimizer, rates: Sequence[float], left: float) -> None:
    """Let every learning rate be what it was at first, times what is `left` of the training."""
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate * left


def fused_on(model: nn.Module) -> bool:
    """Whether PyTorch has a fused optimiser, one pass over all weights, for where this model is."""
    return device_of(model).type in ("cpu", "cuda", "mps")


def _steps(task: Task, state: State, workers: Workers, accumulate: int) -> Iterator[None]:
    """Take the remaining steps of an epoch, one at a time."""
    for parts in task.steps(state.epoch, first=state.step, parts=accumulate * workers.count):
        task.optimizer.zero_grad()
        total = torch.zeros(())
        for part in workers.mine(parts):
            loss = part()
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.detach().cpu()
        workers.add_up_gradients(task.model)
        task.optimizer.step()
        state.loss += float(workers.total(total))
        state.step += 1
        yield


def _close_epoch(task: Task, schedule: Schedule, state: State, checkpoint: Checkpoint) -> dict[str, float]:
    """The loss of an epoch, and what validation says when it is time; the best weights are kept."""
    closed = {"epoch": state.epoch + 1, "loss": state.loss / max(state.step, 1)}
    state.epoch, state.step, state.loss = state.epoch + 1, 0, 0.0
    last = state.epoch == schedule.epochs
    if state.epoch % schedule.validate_every == 0 or last:
        closed["valid"] = value = task.validate()
        state.history.append(closed)
        state.since_best += 1
        if value > state.best:
            state.best, state.best_epoch, state.since_best = value, state.epoch, 0
            checkpoint.keep_best()
    state.done = last or state.since_best >= schedule.patience
    return closed


class _Clock:
    """Seconds of training, those before an interruption included; rings when a checkpoint is due."""

    def __init__(self, before: float, interval: float) -> None:
        self._start = time.monotonic() - before
        self._interval, self._rang = interval, before

    def now(self) -> float:
        return time.monotonic() - self._start

    def rings(self) -> bool:
        due = self.now() - self._rang >= self._interval
        if due:
            self._rang = self.now()
        return due
