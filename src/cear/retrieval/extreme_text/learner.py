"""A model in training: what it is, and what Adagrad remembers of it; one file for both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch

from cear.core.reading import reading
from cear.core.seals import if_whole
from cear.core.tensors import read_tensors, write_tensors
from cear.retrieval.extreme_text.config import TreeSettings
from cear.retrieval.extreme_text.examples import Examples
from cear.retrieval.extreme_text.fresh import fresh_model
from cear.retrieval.extreme_text.kernels import Weights
from cear.retrieval.extreme_text.origin import Origin, refuse_others
from cear.retrieval.extreme_text.side import SideModel


@dataclass(frozen=True, eq=False)
class Learner:
    """A model and the sums of squared gradients: (feature,), (classifier,) and (slot,), or empty for sgd."""

    model: SideModel
    squares: Weights

    @classmethod
    def fresh(cls, examples: Examples, config: TreeSettings, seeds: list[int]) -> Self:
        """A model before its first example."""
        model = fresh_model(examples, config, seeds)
        keep = config.optimizer == "adagrad"
        return cls(model, Weights(*(np.zeros(keep * len(array), np.float32) for array in model.weights)))

    @classmethod
    def resume(cls, path: Path, origin: Origin) -> tuple[Self, str] | None:
        """What a file of this origin holds and how far its training is, if it is there and whole.

        The arrays are mapped from the file; they can be written to, and the file does not change.
        """
        kept = if_whole(path, read_tensors)
        if kept is None:
            return None
        tensors, metadata = kept
        refuse_others(path, metadata, origin)
        with reading(path):
            squares = Weights(*(tensors[f"squares.{name}"].numpy() for name in Weights._fields))
            return cls(SideModel.from_tensors(tensors), squares), metadata["state"]

    def save(self, path: Path, state: str, origin: Origin) -> None:
        """Write everything that going on needs, and the model itself, in the place of what was there."""
        squares = {f"squares.{name}": torch.from_numpy(array) for name, array in self.squares._asdict().items()}
        write_tensors(path, self.model.tensors() | squares, {"state": state, **origin})
