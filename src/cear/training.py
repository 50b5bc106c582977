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
from typing import Any, Protocol

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from cear.errors import CearError, DataError, MismatchError
from cear.files import remove_leftovers, replacing
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


def fit(task: Task, schedule: Schedule, folder: Path, *, fingerprint: str, progress: Progress = silent) -> State:
    """Train until the schedule ends, leave the best weights in the model, and return how it went.

    `folder` keeps the checkpoint; a training of the same fingerprint continues there.
    """
    remove_leftovers(folder)
    state = _resume(task, folder, fingerprint)
    clock = _Clock(state.seconds)
    with progress("Training", schedule.epochs * len(task)) as bar:
        bar.advance(state.epoch * len(task) + state.step)
        while not state.done:
            _run_epoch(task, schedule, folder, fingerprint, state, clock, bar.advance)
            _close_epoch(task, schedule, folder, state)
            bar.describe(_line(state))
            state.seconds = clock.now()
            _save(task, state, folder / "checkpoint.safetensors", fingerprint)
    task.model.load_state_dict(load_weights(folder / "best.safetensors"))
    return state


def _run_epoch(
    task: Task, schedule: Schedule, folder: Path, fingerprint: str, state: State, clock: _Clock, advance: Any
) -> None:
    """Take the remaining steps of an epoch."""
    saved = clock.now()
    for loss in task.losses(state.epoch, first=state.step):
        task.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        task.optimizer.step()
        state.loss += float(loss.detach())
        state.step += 1
        advance(1)
        if clock.now() - saved >= schedule.checkpoint_seconds:
            saved = state.seconds = clock.now()
            _save(task, state, folder / "checkpoint.safetensors", fingerprint)


def _close_epoch(task: Task, schedule: Schedule, folder: Path, state: State) -> None:
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
            save_weights(task.model, folder / "best.safetensors")
    state.done = last or state.since_best >= schedule.patience


def save_weights(model: nn.Module, path: Path) -> None:
    """Write a model's weights, atomically."""
    _write(path, dict(model.state_dict()))


def load_weights(path: Path) -> dict[str, Tensor]:
    """The weights in a file."""
    with _reading(path) as file:
        return {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - not a mapping


def _save(task: Task, state: State, path: Path, fingerprint: str) -> None:
    tensors = {f"model.{key}": value for key, value in task.model.state_dict().items()}
    for index, slots in task.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": value for key, value in slots.items()}
    _write(path, tensors, {"state": json.dumps(asdict(state)), "fingerprint": fingerprint})


def _resume(task: Task, folder: Path, fingerprint: str) -> State:
    path = folder / "checkpoint.safetensors"
    if not path.exists():
        return State()
    with _reading(path) as file:
        metadata = file.metadata() or {}
    there = metadata.get("fingerprint", "no fingerprint")
    if there != fingerprint:
        raise MismatchError(
            f"The checkpoint {path} belongs to another configuration or knowledge base "
            f"({there[:12]}, this one is {fingerprint[:12]}). "
            "Use another --out folder, or delete this one to start afresh."
        )
    _restore(task, load_weights(path))
    return State(**json.loads(metadata["state"]))


def _write(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    try:
        with replacing(path) as partial:
            save_file({key: value.contiguous() for key, value in tensors.items()}, partial, metadata)
    except (OSError, SafetensorError) as error:  # safetensors has its own name for a full disk
        raise CearError(
            f"{path} could not be written: {error}. What it held before is still there. "
            "Make room on the disk, or check who may write there, then run the same command again: it continues."
        ) from error


@contextmanager
def _reading(path: Path) -> Iterator[Any]:
    """An open file of tensors; one that is cut off or damaged is named, with what to do."""
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (FileNotFoundError, SafetensorError) as error:
        raise DataError(
            f"{path} cannot be read: {error}. It is missing, cut off or damaged; we write it whole or not at all. "
            f"Copy it again, or delete the folder {path.parent} and run the same command: it starts afresh."
        ) from error


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
