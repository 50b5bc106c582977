"""One training loop for every stage: epochs, validation, the best weights, early stop, checkpoints, resume.

A task draws its random numbers from (seed, epoch, step) alone, so the state of a training is the weights, the
optimiser and a place (epoch, step): one file, written atomically. Killed at any moment, a training goes on
from its last checkpoint to the same result.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from cear.errors import MismatchError
from cear.files import replacing
from cear.progress import Progress, silent


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


@dataclass
class State:
    """The place a training has reached, and its history."""

    epoch: int = 0
    step: int = 0
    best: float = float("-inf")
    best_epoch: int = 0
    since_best: int = 0
    seconds: float = 0.0
    done: bool = False
    history: list[dict[str, float]] = field(default_factory=list)


def fit(task: Task, schedule: Schedule, folder: Path, *, fingerprint: str, progress: Progress = silent) -> State:
    """Train until the schedule ends, leave the best weights in the model, and return how it went.

    `folder` keeps the checkpoint; a training of the same fingerprint continues there.
    """
    state = _resume(task, folder, fingerprint)
    clock = _Clock(state.seconds)
    with progress("Training", schedule.epochs * len(task)) as bar:
        bar.advance(state.epoch * len(task) + state.step)
        while not state.done:
            loss = _run_epoch(task, schedule, folder, fingerprint, state, clock, bar.advance)
            _close_epoch(task, schedule, folder, state, loss)
            bar.describe(_line(state))
            state.seconds = clock.now()
            _save(task, state, folder / "checkpoint.safetensors", fingerprint)
    task.model.load_state_dict(load_weights(folder / "best.safetensors"))
    return state


def _run_epoch(
    task: Task, schedule: Schedule, folder: Path, fingerprint: str, state: State, clock: _Clock, advance: Any
) -> float:
    """Take the remaining steps of an epoch and return the mean loss of those."""
    total, first = 0.0, state.step
    saved = clock.now()
    for loss in task.losses(state.epoch, first=first):
        task.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        task.optimizer.step()
        total += float(loss.detach())
        state.step += 1
        advance(1)
        if clock.now() - saved > schedule.checkpoint_seconds:
            saved = state.seconds = clock.now()
            _save(task, state, folder / "checkpoint.safetensors", fingerprint)
    return total / max(state.step - first, 1)


def _close_epoch(task: Task, schedule: Schedule, folder: Path, state: State, loss: float) -> None:
    """Validate when it is time, keep the best weights, and decide whether to go on."""
    state.epoch, state.step = state.epoch + 1, 0
    last = state.epoch == schedule.epochs
    if state.epoch % schedule.validate_every == 0 or last:
        value = task.validate()
        state.history.append({"epoch": state.epoch, "loss": loss, "valid": value})
        state.since_best += 1
        if value > state.best:
            state.best, state.best_epoch, state.since_best = value, state.epoch, 0
            save_weights(task.model, folder / "best.safetensors")
    state.done = last or state.since_best >= schedule.patience


def save_weights(model: nn.Module, path: Path) -> None:
    """Write a model's weights, atomically."""
    with replacing(path) as partial:
        save_file({key: value.contiguous() for key, value in model.state_dict().items()}, partial)


def load_weights(path: Path) -> dict[str, Tensor]:
    """The weights in a file."""
    with safe_open(path, framework="pt") as file:
        return {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - not a mapping


def _save(task: Task, state: State, path: Path, fingerprint: str) -> None:
    tensors = {f"model.{key}": value for key, value in task.model.state_dict().items()}
    for index, slots in task.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": value for key, value in slots.items()}
    metadata = {"state": json.dumps(asdict(state)), "fingerprint": fingerprint}
    with replacing(path) as partial:
        save_file({key: value.contiguous() for key, value in tensors.items()}, partial, metadata)


def _resume(task: Task, folder: Path, fingerprint: str) -> State:
    path = folder / "checkpoint.safetensors"
    if not path.exists():
        return State()
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    if metadata["fingerprint"] != fingerprint:
        raise MismatchError(
            f"The checkpoint {path} belongs to another configuration or knowledge base "
            f"({metadata['fingerprint'][:12]}, this one is {fingerprint[:12]}). "
            "Use another --out folder, or delete this one to start afresh."
        )
    _restore(task, load_weights(path))
    return State(**json.loads(metadata["state"]))


def _restore(task: Task, tensors: dict[str, Tensor]) -> None:
    model = {key.removeprefix("model."): value for key, value in tensors.items() if key.startswith("model.")}
    task.model.load_state_dict(model)
    slots: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer."):
            _, index, name = key.split(".", 2)
            slots.setdefault(int(index), {})[name] = value
    task.optimizer.load_state_dict({**task.optimizer.state_dict(), "state": slots})


def _line(state: State) -> str:
    latest = state.history[-1]["valid"] if state.history else float("nan")
    return f"epoch {state.epoch}: valid {latest:.4f}, best {state.best:.4f}"


class _Clock:
    """Seconds of training, those before an interruption included."""

    def __init__(self, before: float) -> None:
        self._start = time.monotonic() - before

    def now(self) -> float:
        return time.monotonic() - self._start
