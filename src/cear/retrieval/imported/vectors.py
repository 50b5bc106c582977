"""Plain vectors: entity.npy and relation.npy, or vectors.safetensors with both, and one id in each line of two files.

Complex vectors are real parts, then imaginary parts; the relations of RotatE are phases. Twice as many relation vectors
as relations have the reciprocal of relation r in row r + R.
"""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from cear.core.errors import ConfigError, DataError
from cear.core.tensors import read_tensors
from cear.retrieval.imported.arrays import read_array
from cear.retrieval.imported.config import ImportedSettings
from cear.retrieval.imported.ids import ids_files, listed
from cear.retrieval.imported.model import TrainedModel, config_of, rank_of

NAMES = ("entity", "relation")
TENSORS = "vectors.safetensors"


def recognises(path: Path) -> bool:
    """Whether this is a folder with vectors."""
    return (path / TENSORS).is_file() or all((path / f"{name}.npy").is_file() for name in NAMES)


def files(given: ImportedSettings) -> list[Path]:
    """All that is read."""
    folder = Path(given.path)
    numbers = [TENSORS] if (folder / TENSORS).is_file() else [f"{name}.npy" for name in NAMES]
    return [*(folder / name for name in numbers), *_ids_files(given)]


def read(given: ImportedSettings) -> TrainedModel:
    """The vectors in a folder, with the scorer that the settings say."""
    folder, kind = Path(given.path), given.scorer
    if kind is None:
        raise ConfigError(f"{folder} holds vectors; say what they do: `scorer: complex`, distmult, rotate or transe.")
    if kind in ("rotate", "transe") and given.norm is None:
        raise ConfigError(f"`scorer: {kind}` is a distance; say which: `norm: 1` or `norm: 2`.")
    if kind not in ("rotate", "transe") and given.norm is not None:
        raise ConfigError(f"`scorer: {kind}` is no distance and has no norm; leave `norm: {given.norm}` out.")
    tensors = _tensors(folder)
    norm = {} if given.norm is None else {"norm": given.norm}
    config = config_of(kind, folder, rank=rank_of(kind, tensors["entity"]), **norm)
    entities, relations = (listed(path) for path in _ids_files(given))
    return TrainedModel(folder, config, entities, relations, tensors)


def _tensors(folder: Path) -> dict[str, Tensor]:
    if not (folder / TENSORS).is_file():
        return {name: read_array(folder / f"{name}.npy") for name in NAMES}
    tensors, _ = read_tensors(folder / TENSORS)
    if set(tensors) != set(NAMES):
        raise DataError(f"{folder / TENSORS} holds {', '.join(sorted(tensors))}; expected entity and relation.")
    return tensors


def _ids_files(given: ImportedSettings) -> tuple[Path, Path]:
    return ids_files(given, [Path(given.path)], "entities.txt", "relations.txt")
