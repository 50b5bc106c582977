"""LibKGE: a checkpoint or package, a dictionary with a `config` and a `model` (its state and notes).

Complex numbers stand as real parts, then imaginary parts, and the relations of RotatE are phases: as ours. A
`reciprocal_relations_model` wraps another one, and the reciprocal of r is its relation r + R. Of TransE and RotatE the
score is minus the distance.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cear.core.errors import DataError
from cear.retrieval.gradient import GradientConfig
from cear.retrieval.imported.config import ImportedSettings
from cear.retrieval.imported.ids import ids_files, numbered
from cear.retrieval.imported.model import TrainedModel, config_of, rank_of
from cear.retrieval.imported.torch_files import TorchFile, inside, is_torch_file, read_torch_file

KINDS = ("complex", "conve", "distmult", "rotate", "transe")
_RECIPROCAL = "reciprocal_relations_model"
_EPSILON = 1e-5  # of PyTorch's batch normalisation


def recognises(path: Path) -> bool:
    """Whether this is a file of PyTorch with a model and the options of LibKGE."""
    return is_torch_file(path) and isinstance(_options(read_torch_file(path)).get("model"), str)


def files(given: ImportedSettings) -> list[Path]:
    """All that is read."""
    file = read_torch_file(Path(given.path))
    return [file.path, *([] if _holds_ids(file, given) else _ids_files(given))]


def read(given: ImportedSettings) -> TrainedModel:
    """The model in a checkpoint of LibKGE."""
    file = read_torch_file(Path(given.path))
    kind, settings = _settings(file)
    entity, relation = (_weight(file, f"_{what}_embedder._embeddings.weight") for what in ("entity", "relation"))
    tensors = {"entity": entity, "relation": relation}
    if kind == "conve":
        config, tensors = _conve(file, settings, entity, relation)
    else:
        norm = {"norm": settings["l_norm"]} if kind in ("transe", "rotate") else {}
        config = config_of(kind, file.path, rank=rank_of(kind, entity), **norm)
    entities, relations = _ids(file, given)
    return TrainedModel(file.path, config, entities, relations, tensors)


def _options(file: TorchFile) -> dict[str, Any]:
    options = inside(file.content, "config", "options")
    return options if isinstance(options, dict) else {}


def _settings(file: TorchFile) -> tuple[str, dict[str, Any]]:
    """Which model it is, and its settings: those of its kind, and on top of them its own."""
    options = _options(file)
    kind, own = options["model"], {}
    if kind == _RECIPROCAL:
        own = options[_RECIPROCAL]["base_model"]
        kind = own["type"]
    if kind not in KINDS:
        raise DataError(f"{file.path} is of LibKGE's {kind!r}. Those that can be imported: {', '.join(KINDS)}.")
    return kind, {**options.get(kind, {}), **own}


def _find(file: TorchFile, name: str) -> Any:
    """What the model itself, or the one that it wraps, has under a name, if anything."""
    model = inside(file.content, "model")
    state = model[0] if isinstance(model, tuple | list) and model else None
    old = name.replace("._embeddings.", ".embeddings.")  # as it was called once
    found = (inside(state, prefix + each) for each in (name, old) for prefix in ("_base_model.", ""))
    return next((value for value in found if value is not None), None)


def _weight(file: TorchFile, name: str) -> Tensor:
    value = _find(file, name)
    if value is None:
        raise DataError(f"{file.path} has no weights called {name}: its vectors are no plain rows.")
    return file.tensor(value)


def _holds_ids(file: TorchFile, given: ImportedSettings) -> bool:
    """Whether the ids are in the checkpoint, which then is a package, and no setting names other ones."""
    named = given.entities is not None or given.relations is not None
    return not named and inside(file.content, "dataset", "meta", "entity_ids") is not None


def _ids_files(given: ImportedSettings) -> tuple[Path, Path]:
    return ids_files(given, [Path(given.path).parent], "entity_ids.del", "relation_ids.del")


def _ids(file: TorchFile, given: ImportedSettings) -> list[list[str]]:
    if _holds_ids(file, given):
        return [inside(file.content, "dataset", "meta", f"{what}_ids") for what in ("entity", "relation")]
    return [numbered(path, number=0) for path in _ids_files(given)]


def _conve(
    file: TorchFile, settings: dict[str, Any], entity: Tensor, relation: Tensor
) -> tuple[GradientConfig, dict[str, Tensor]]:
    """LibKGE's ConvE: the first coordinate is the bias, and its batch normalisation has no scale, nor one in front."""
    if settings["stride"] != 1 or settings["padding"] != 0:
        raise DataError(f"{file.path} is a ConvE with a stride or a padding, which ours has not.")
    rank = entity.shape[1] - 1
    filters, lines = _weight(file, "_scorer.convolution.weight"), _weight(file, "_scorer.projection.weight")
    width = round(math.sqrt(rank / settings["2D_aspect_ratio"]) * settings["2D_aspect_ratio"])
    config = config_of(
        "conve", file.path, rank=rank, image_width=width, kernel=filters.shape[-1], channels=len(filters)
    )
    tensors = {"entity": entity[:, 1:], "bias": entity[:, 0], "relation": relation[:, 1:]}
    tensors |= {"convolution.2.weight": filters, "convolution.2.bias": _bias(file, filters)}
    tensors |= {"projection.0.weight": lines, "projection.0.bias": _weight(file, "_scorer.projection.bias")}
    tensors |= _normalisation("convolution.0", torch.zeros(1), torch.ones(1) - _EPSILON)  # changes nothing
    for ours, theirs in (("convolution.3", "bn1"), ("projection.2", "bn2")):
        mean, variance = (_weight(file, f"_scorer.{theirs}.running_{what}") for what in ("mean", "var"))
        tensors |= _normalisation(ours, mean, variance)
    return config, tensors


def _bias(file: TorchFile, filters: Tensor) -> Tensor:
    """The bias of the convolution, which a setting may leave out."""
    value = _find(file, "_scorer.convolution.bias")
    return torch.zeros(len(filters)) if value is None else file.tensor(value)


def _normalisation(name: str, mean: Tensor, variance: Tensor) -> dict[str, Tensor]:
    """The weights of a batch normalisation without a scale of its own."""
    return {
        f"{name}.weight": torch.ones_like(mean),
        f"{name}.bias": torch.zeros_like(mean),
        f"{name}.running_mean": mean,
        f"{name}.running_var": variance,
        f"{name}.num_batches_tracked": torch.tensor(0),
    }
