"""The state of a training on disk: one file for going on, one with the best weights."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from cear.core.errors import MismatchError
from cear.core.records import from_json
from cear.core.tensors import read_tensors, write_tensors
from cear.training.workers import Workers

LATEST, BEST = "checkpoint.safetensors", "best.safetensors"


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


def load_weights(folder: Path) -> dict[str, Tensor]:
    """The weights that were best on validation in the folder of a training."""
    return read_tensors(folder / BEST)[0]


class Checkpoint:
    """Writes and restores the state of a training; of several processes one writes, and all restore."""

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, folder: Path, key: str, workers: Workers
    ) -> None:
        self._model, self._optimizer = model, optimizer
        self._folder, self._key, self._workers = folder, key, workers

    def keep_best(self) -> None:
        """Write the weights as they are now as the best."""
        if self._workers.is_main:
            write_tensors(self._folder / BEST, dict(self._model.state_dict()))

    def save(self, state: State, *, seconds: float) -> None:
        """Write everything that going on needs."""
        state.seconds = seconds
        if not self._workers.is_main:
            return
        tensors = {f"model.{key}": value for key, value in self._model.state_dict().items()}
        for index, slots in self._optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{key}": value for key, value in slots.items()}
        write_tensors(self._folder / LATEST, tensors, {"state": json.dumps(asdict(state)), "key": self._key})

    def resume(self) -> State:
        """Bring model and optimiser to where the training was; a fresh state where there was none."""
        path = self._folder / LATEST
        self._workers.wait()
        if not path.exists():
            return State()
        tensors, metadata = read_tensors(path)
        there = metadata.get("key", "no key")
        if there != self._key:
            raise MismatchError(
                f"The checkpoint {path} belongs to another configuration or knowledge base "
                f"({there[:12]}, this one is {self._key[:12]}). "
                "Use another folder, or delete this one to start afresh."
            )
        state = from_json(State, json.loads(metadata["state"]), path)
        self._restore(tensors)
        return state

    def _restore(self, tensors: dict[str, Tensor]) -> None:
        model = {key.removeprefix("model."): value for key, value in tensors.items() if key.startswith("model.")}
        self._model.load_state_dict(model)
        slots: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith("optimizer."):
                _, index, name = key.split(".", 2)
                slots.setdefault(int(index), {})[name] = value
        self._optimizer.load_state_dict({**self._optimizer.state_dict(), "state": slots})
