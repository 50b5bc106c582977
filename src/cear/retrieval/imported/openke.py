"""OpenKE: a checkpoint, the state dictionary of a model, with entity2id.txt and relation2id.txt.

TransE and DistMult have the same weights, and nothing tells norm and `norm_flag` of TransE: the settings say it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cear.core.errors import ConfigError, DataError
from cear.retrieval.imported.config import ImportedSettings
from cear.retrieval.imported.ids import ids_files, numbered
from cear.retrieval.imported.model import TrainedModel, config_of, rank_of
from cear.retrieval.imported.torch_files import TorchFile, inside, is_torch_file, read_torch_file

_CONSTANTS = {"zero_const", "pi_const", "margin", "embedding_range", "ent_embedding_range"}
_PLAIN = {"ent_embeddings.weight", "rel_embeddings.weight"}
_ROTATE = {*_PLAIN, "rel_embedding_range"}
_COMPLEX = {f"{what}_{part}_embeddings.weight" for what in ("ent", "rel") for part in ("re", "im")}


def recognises(path: Path) -> bool:
    """Whether this is a file of PyTorch with vectors by the names of OpenKE."""
    return is_torch_file(path) and any(name.endswith("_embeddings.weight") for name in _names(read_torch_file(path)))


def files(given: ImportedSettings) -> list[Path]:
    """All that is read."""
    return [Path(given.path), *_ids_files(given)]


def read(given: ImportedSettings) -> TrainedModel:
    """The model in a checkpoint of OpenKE."""
    file = read_torch_file(Path(given.path))
    kind = _kind(file, given)
    tensors = _complex(file) if kind == "complex" else {name: _weight(file, name) for name in ("entity", "relation")}
    settings: dict[str, Any] = {}
    if kind == "rotate":
        tensors["relation"] *= math.pi / file.tensor(inside(file.content, "rel_embedding_range")).item()
        settings["norm"] = 1
    if kind == "transe":
        settings["norm"] = given.norm
        if given.unit_length:
            tensors = {name: torch.nn.functional.normalize(tensor) for name, tensor in tensors.items()}
    config = config_of(kind, file.path, rank=rank_of(kind, tensors["entity"]), **settings)
    entities, relations = (numbered(path, number=1, skip_lines=1) for path in _ids_files(given))
    return TrainedModel(file.path, config, entities, relations, tensors)


def _kind(file: TorchFile, given: ImportedSettings) -> str:
    """Which model has these weights, as far as they tell."""
    names = set(_names(file)) - _CONSTANTS
    if names == _COMPLEX:
        return "complex"
    if names == _ROTATE:
        return "rotate"
    if names != _PLAIN:
        raise DataError(
            f"{file.path} has the weights {', '.join(sorted(names))}. Of OpenKE, ComplEx, DistMult, RotatE and TransE "
            "can be imported."
        )
    if given.scorer not in ("distmult", "transe"):
        raise ConfigError(f"{file.path} may be OpenKE's TransE or DistMult. Say which: `scorer: transe` or `distmult`.")
    if given.scorer == "transe" and (given.norm is None or given.unit_length is None):
        raise ConfigError(
            f"{file.path} does not say how its TransE scores. Set `norm` (its p_norm, 1 by default) and `unit_length` "
            "(its norm_flag, true by default)."
        )
    return given.scorer


def _names(file: TorchFile) -> list[str]:
    state = file.content if isinstance(file.content, dict) else getattr(file.content, "state", {})
    return [name for name in state if isinstance(name, str) and name != "_metadata"]


def _weight(file: TorchFile, what: str) -> Tensor:
    return file.tensor(inside(file.content, f"{what[:3]}_embeddings.weight"))


def _complex(file: TorchFile) -> dict[str, Tensor]:
    """Real parts, then imaginary parts, which OpenKE keeps apart."""
    parts = {name: file.tensor(inside(file.content, name)) for name in _COMPLEX}
    return {
        what: torch.cat([parts[f"{what[:3]}_{part}_embeddings.weight"] for part in ("re", "im")], dim=1)
        for what in ("entity", "relation")
    }


def _ids_files(given: ImportedSettings) -> tuple[Path, Path]:
    """Files whose first line is the number of ids."""
    return ids_files(given, [Path(given.path).parent], "entity2id.txt", "relation2id.txt")
