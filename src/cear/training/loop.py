"""One training loop for every stage: epochs, validation, the best weights, early stop, checkpoints, resume.

A task draws its random numbers from (seed, epoch, step) alone, so the state of a training is the weights, the
optimiser and a place (epoch, step): one file, written atomically. Killed at any moment, a training goes on
from its last checkpoint to the same result.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from cear.core.context import NO_DEADLINE, Deadline
from cear.core.errors import MismatchError, OutOfTime
from cear.core.files import remove_leftovers
from cear.core.progress import Progress, silent
from cear.core.records import from_json
from cear.core.tensors import read_tensors, write_tensors

LATEST, BEST = "checkpoint.safetensors", "best.safetensors"


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

    def losses(self, epoch: int, *, first: int) -> Iterator[Tensor]:
        """The loss of each step of an epoch, from step `first` on."""

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


@dataclass
class State:
    """The place a training has reached, and its history."""

    epoch: int = 0
    step: int = 0
    loss: float = 0.0
    """The sum over the steps of this epoch so far."""
    best: float = float("-inf")
    best_epoch: int = 0
    since_best: int = 0
    seconds: float = 0.0
    done: bool = False
    history: list[dict[str, float]] = field(default_factory=list)


def fit(
    task: Task,
    schedule: Schedule,
    folder: Path,
    *,
    fingerprint: str,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = silent,
) -> State:
    """Train until the schedule ends, leave the best weights in the model, and return how it went.

    `folder` keeps the checkpoint; a training of the same fingerprint continues there. One that is not done at its
    deadline is saved and raises `OutOfTime`; every call takes at least one step, so that it ends some day.
    """
    remove_leftovers(folder)
    checkpoint = _Checkpoint(task, folder, fingerprint)
    state = checkpoint.resume()
    clock = _Clock(state.seconds, schedule.checkpoint_seconds)
    with progress("Training", schedule.epochs * len(task)) as bar:
        bar.advance(state.epoch * len(task) + state.step)
        while not state.done:
            for _ in _steps(task, state):
                bar.advance(1)
                if deadline.passed():
                    checkpoint.save(state, seconds=clock.now())
                    raise OutOfTime(
                        f"The time is over in epoch {state.epoch + 1}, step {state.step} of the training in {folder}. "
                        "Everything is saved: the same command continues."
                    )
                if clock.rings():
                    checkpoint.save(state, seconds=clock.now())
            _close_epoch(task, schedule, state, checkpoint)
            bar.describe(f"epoch {state.epoch}: best on validation {state.best:.4f}")
            checkpoint.save(state, seconds=clock.now())
    task.model.load_state_dict(load_weights(folder))
    return state


@contextmanager
def seeded(*seeds: int) -> Iterator[None]:
    """PyTorch's random numbers, such as dropout, as a function of these seeds; outside they go on undisturbed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.default_rng(seeds).integers(2**62)))
        yield


def load_weights(folder: Path) -> dict[str, Tensor]:
    """The weights that were best on validation in the folder of a training."""
    return read_tensors(folder / BEST)[0]


def _steps(task: Task, state: State) -> Iterator[None]:
    """Take the remaining steps of an epoch, one at a time."""
    for loss in task.losses(state.epoch, first=state.step):
        task.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        task.optimizer.step()
        state.loss += float(loss.detach())
        state.step += 1
        yield


def _close_epoch(task: Task, schedule: Schedule, state: State, checkpoint: _Checkpoint) -> None:
    """Validate when it is time, keep the best weights, and decide whether to go on."""
    loss = state.loss / max(state.step, 1)
    state.epoch, state.step, state.loss = state.epoch + 1, 0, 0.0
    last = state.epoch == schedule.epochs
    if state.epoch % schedule.validate_every == 0 or last:
        value = task.validate()
        state.history.append({"epoch": state.epoch, "loss": loss, "valid": value})
        state.since_best += 1
        if value > state.best:
            state.best, state.best_epoch, state.since_best = value, state.epoch, 0
            checkpoint.keep_best()
    state.done = last or state.since_best >= schedule.patience


class _Checkpoint:
    """The state of a training on disk: one file for going on, one with the best weights."""

    def __init__(self, task: Task, folder: Path, fingerprint: str) -> None:
        self._task, self._folder, self._fingerprint = task, folder, fingerprint

    def keep_best(self) -> None:
        """Write the weights as they are now as the best."""
        write_tensors(self._folder / BEST, dict(self._task.model.state_dict()))

    def save(self, state: State, *, seconds: float) -> None:
        """Write everything that going on needs."""
        state.seconds = seconds
        tensors = {f"model.{key}": value for key, value in self._task.model.state_dict().items()}
        for index, slots in self._task.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{key}": value for key, value in slots.items()}
        metadata = {"state": json.dumps(asdict(state)), "fingerprint": self._fingerprint}
        write_tensors(self._folder / LATEST, tensors, metadata)

    def resume(self) -> State:
        """Bring model and optimiser to where the training was; a fresh state where there was none."""
        path = self._folder / LATEST
        if not path.exists():
            return State()
        tensors, metadata = read_tensors(path)
        there = metadata.get("fingerprint", "no fingerprint")
        if there != self._fingerprint:
            raise MismatchError(
                f"The checkpoint {path} belongs to another configuration or knowledge base "
                f"({there[:12]}, this one is {self._fingerprint[:12]}). "
                "Use another --out folder, or delete this one to start afresh."
            )
        state = from_json(State, json.loads(metadata["state"]), path)
        self._restore(tensors)
        return state

    def _restore(self, tensors: dict[str, Tensor]) -> None:
        model = {key.removeprefix("model."): value for key, value in tensors.items() if key.startswith("model.")}
        self._task.model.load_state_dict(model)
        slots: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith("optimizer."):
                _, index, name = key.split(".", 2)
                slots.setdefault(int(index), {})[name] = value
        optimizer = self._task.optimizer
        optimizer.load_state_dict({**optimizer.state_dict(), "state": slots})


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
