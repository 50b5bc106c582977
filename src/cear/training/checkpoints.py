"""The state of a training on disk: one file for going on, one with the best weights."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from cear.core.errors import MismatchError
from cear.core.reading import reading
from cear.core.records import from_json
from cear.core.seals import if_whole
from cear.core.tensors import Tensors, load_state, read_tensors, write_tensors
from cear.training.workers import Workers

log = logging.getLogger("cear.training")

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
    history: list[dict[str, int | float]] = field(default_factory=list)
    """An epoch comes back as the integer that it was: a resumed training leaves the bytes of an undisturbed one."""


def load_weights(folder: Path) -> Tensors:
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
        """Bring model and optimiser to where the training was; a fresh state where there was none, or it is damaged."""
        path = self._folder / LATEST
        self._workers.wait()
        kept = if_whole(path, read_tensors)
        if kept is None:
            return State()
        tensors, metadata = kept
        there = metadata.get("key", "no key")
        if there != self._key:
            raise MismatchError(
                f"The checkpoint {path} belongs to another configuration or knowledge base "
                f"({there[:12]}, this one is {self._key[:12]}). "
                "Use another folder, or delete this one to start afresh."
            )
        with reading(path):
            state = from_json(State, json.loads(metadata["state"]), path)
        if state.best_epoch and if_whole(self._folder / BEST, read_tensors) is None:
            log.warning("The training in %s has lost its best weights and starts again.", self._folder)
            return State()
        self._restore(tensors)
        return state

    def _restore(self, tensors: Tensors) -> None:
        model = {key.removeprefix("model."): value for key, value in tensors.items() if key.startswith("model.")}
        load_state(self._model, Tensors(tensors.path, model))
        slots: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith("optimizer."):
                _, index, name = key.split(".", 2)
                slots.setdefault(int(index), {})[name] = value
        self._optimizer.load_state_dict({**self._optimizer.state_dict(), "state": slots})
