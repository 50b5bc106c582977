"""The RotatE repository (DeepGraphLearning/KnowledgeGraphEmbedding): a save folder with .npy files and config.json.

The relations of RotatE are stored in units of (γ + 2) / (π rank), so that they start within ±(γ + 2) / rank.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from cear.core.errors import DataError
from cear.core.files import read_json
from cear.retrieval.imported.arrays import read_array
from cear.retrieval.imported.config import ImportedSettings
from cear.retrieval.imported.ids import ids_files, numbered
from cear.retrieval.imported.model import TrainedModel, config_of, rank_of

ENTITY, RELATION, CONFIG = "entity_embedding.npy", "relation_embedding.npy", "config.json"
MODELS = {"ComplEx": "complex", "DistMult": "distmult", "RotatE": "rotate", "TransE": "transe"}
_EPSILON = 2.0  # of their embedding range


def recognises(path: Path) -> bool:
    """Whether this is a save folder of the repository."""
    return all((path / name).is_file() for name in (ENTITY, CONFIG))


def files(given: ImportedSettings) -> list[Path]:
    """All that is read."""
    folder = Path(given.path)
    return [*(folder / name for name in (ENTITY, RELATION, CONFIG)), *_ids_files(given, _config(folder))]


def read(given: ImportedSettings) -> TrainedModel:
    """The model in a save folder."""
    folder = Path(given.path)
    config = _config(folder)
    kind = MODELS[config["model"]]
    tensors = {"entity": read_array(folder / ENTITY), "relation": read_array(folder / RELATION)}
    if kind == "rotate":
        tensors["relation"] *= math.pi * config["hidden_dim"] / (config["gamma"] + _EPSILON)
    norm = {"norm": 1} if kind in ("rotate", "transe") else {}
    settings = config_of(kind, folder, rank=rank_of(kind, tensors["entity"]), **norm)
    entities, relations = (numbered(path, number=0) for path in _ids_files(given, config))
    return TrainedModel(folder, settings, entities, relations, tensors)


def _config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    config = read_json(path)
    if not isinstance(config, dict) or config.get("model") not in MODELS:
        found = config.get("model") if isinstance(config, dict) else config
        raise DataError(f"{path} is of the model {found!r}. Those that can be imported: {', '.join(MODELS)}.")
    if not all(isinstance(config.get(key), int | float) for key in ("hidden_dim", "gamma")):
        raise DataError(f"{path} has no numbers for hidden_dim and gamma, which say what the vectors mean.")
    return config


def _ids_files(given: ImportedSettings, config: dict[str, Any]) -> tuple[Path, Path]:
    """The files of ids: named, in the save folder, or in the folder of its data."""
    folders = [Path(given.path), Path(str(config.get("data_path")))]
    return ids_files(given, folders, "entities.dict", "relations.dict")
