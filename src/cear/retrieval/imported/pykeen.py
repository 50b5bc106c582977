"""PyKEEN: a folder of `PipelineResult.save_to_directory`. The pickled model is read, never loaded.

Complex numbers stand as (real, imaginary) pairs. With inverse triples relation r has row 2r and its inverse row 2r + 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cear.core.errors import DataError
from cear.retrieval.imported.config import ImportedSettings
from cear.retrieval.imported.ids import ids_files, numbered
from cear.retrieval.imported.model import COMPLEX, TrainedModel, config_of, rank_of
from cear.retrieval.imported.torch_files import Recorded, TorchFile, inside, read_torch_file

MODEL, TRIPLES = "trained_model.pkl", "training_triples"
INTERACTIONS = {
    "ComplExInteraction": "complex",
    "ConvEInteraction": "conve",
    "DistMultInteraction": "distmult",
    "RotatEInteraction": "rotate",
    "TransEInteraction": "transe",
}
_LAYERS = {"convolution": ("hr2d", ("0", "2", "3")), "projection": ("hr1d", ("0", "2"))}  # those that have weights
_WEIGHTS = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")


def recognises(path: Path) -> bool:
    """Whether this is a folder with a trained model of PyKEEN."""
    return (path / MODEL).is_file()


def files(given: ImportedSettings) -> list[Path]:
    """All that is read."""
    return [Path(given.path) / MODEL, *_ids_files(given)]


def read(given: ImportedSettings) -> TrainedModel:
    """The model in a folder of PyKEEN."""
    file = read_torch_file(Path(given.path) / MODEL)
    kind = _kind(file)
    tensors = {"entity": _rows(file, "entity", kind), "relation": _relations(file, kind)}
    settings = {"rank": rank_of(kind, tensors["entity"]), **_settings(file, kind)}
    if kind == "conve":
        tensors |= {"bias": _rows(file, "entity", kind, place="1").flatten(), **_network(file)}
    entities, relations = (numbered(path, number=0, skip_lines=1, quoted=True) for path in _ids_files(given))
    return TrainedModel(file.path, config_of(kind, file.path, **settings), entities, relations, tensors)


def _ids_files(given: ImportedSettings) -> tuple[Path, Path]:
    return ids_files(given, [Path(given.path) / TRIPLES], "entity_to_id.tsv.gz", "relation_to_id.tsv.gz")


def _kind(file: TorchFile) -> str:
    interaction = inside(file.content, "interaction")
    if not isinstance(interaction, Recorded):
        raise DataError(f"{file.path} holds no model of PyKEEN with an interaction: {_name(file.content)}.")
    name = _name(interaction)
    if name not in INTERACTIONS:
        raise DataError(f"{file.path} is a model with {name}. Those that can be imported: {', '.join(INTERACTIONS)}.")
    return INTERACTIONS[name]


def _rows(file: TorchFile, what: str, kind: str, *, place: str = "0") -> Tensor:
    """The vectors of entities or relations, real parts first; anything but a plain table of rows is refused."""
    representation = inside(file.content, f"{what}_representations", place)
    if _name(representation) != "Embedding" or inside(representation, "normalizer") is not None:
        raise DataError(
            f"The {what} vectors in {file.path} are made by {_name(representation)}, and not of plain rows or with a "
            "normalizer. Only PyKEEN's Embedding without one can be imported."
        )
    rows = file.tensor(inside(representation, "_embeddings", "weight"))
    return torch.cat([rows[:, 0::2], rows[:, 1::2]], dim=1) if kind in COMPLEX else rows


def _relations(file: TorchFile, kind: str) -> Tensor:
    """The vectors of relations and then of their inverses, if they have any."""
    rows = _rows(file, "relation", kind)
    if kind == "rotate":
        rows = _phases(rows, file.path)
    return torch.cat([rows[0::2], rows[1::2]]) if inside(file.content, "use_inverse_triples") else rows


def _phases(rows: Tensor, path: Path) -> Tensor:
    """The angle of each rotation."""
    real, imaginary = rows.chunk(2, dim=1)
    if not torch.allclose(torch.hypot(real, imaginary), torch.ones_like(real), atol=1e-3):
        raise DataError(f"The relations in {path} are no rotations: not all of their numbers have modulus 1.")
    return torch.atan2(imaginary, real)


def _settings(file: TorchFile, kind: str) -> dict[str, Any]:
    """The settings of our scorer that say the same as those of the interaction."""
    interaction = inside(file.content, "interaction")
    if kind == "rotate":
        return {"norm": 2}  # whatever its p says, PyKEEN's RotatE takes the Euclidean norm
    if kind == "transe":
        p = inside(interaction, "p")
        return {"norm": p, "squared": bool(p == 2 and inside(interaction, "power_norm"))}
    return _image(file, interaction) if kind == "conve" else {}


def _image(file: TorchFile, interaction: Recorded) -> dict[str, Any]:
    shape = {name: inside(interaction, "shape_info", name) for name in ("input_channels", "kernel_height")}
    width, kernel, channels = (
        inside(interaction, "shape_info", name) for name in ("image_width", "kernel_width", "output_channels")
    )
    normalized = _name(inside(interaction, "hr2d", "0")) == "BatchNorm2d"
    if shape != {"input_channels": 1, "kernel_height": kernel} or not normalized:
        raise DataError(
            f"{file.path} is a ConvE of another shape than ours: {shape}, kernel_width {kernel}, batch normalisation "
            f"{normalized}. Only one input channel, square kernels and batch normalisation can be imported."
        )
    return {"image_width": width, "kernel": kernel, "channels": channels}


def _network(file: TorchFile) -> dict[str, Tensor]:
    """The layers of ConvE by our names; they stand in the same order."""
    found: dict[str, Tensor] = {}
    for ours, (theirs, layers) in _LAYERS.items():
        for layer in layers:
            weights = {name: inside(file.content, "interaction", theirs, layer, name) for name in _WEIGHTS}
            found |= {
                f"{ours}.{layer}.{name}": file.tensor(value) for name, value in weights.items() if value is not None
            }
    return found


def _name(value: Any) -> str:
    """The name of a recorded class, without its module."""
    return value.name.rpartition(".")[2] if isinstance(value, Recorded) else type(value).__name__
