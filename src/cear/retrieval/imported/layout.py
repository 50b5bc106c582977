"""A scorer as two files that anybody can read: scorer.json, what it is, and scorer.safetensors, its numbers.

scorer.json         {"format": "cear-scorer", "version": 1, "model": "complex", "settings": {"rank": 64, …},
                    "entities": [ids…], "relations": [ids…], "reciprocal": true}; a name in place of a list of ids is
                    that of a file beside it with one id in each line
scorer.safetensors  `entity` (entity, width), `relation` (2R, width) with the reciprocal of r in row r + R; complex
                    vectors are real parts, then imaginary parts; the relations of RotatE are phases; what else a
                    scorer has is named as its weights are
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from cear.core.errors import DataError
from cear.core.files import read_json, write_json
from cear.core.names import beside
from cear.core.tensors import read_tensors, write_tensors
from cear.data import KnowledgeBase
from cear.retrieval.gradient import GradientConfig
from cear.retrieval.imported.config import ImportedSettings
from cear.retrieval.imported.ids import listed
from cear.retrieval.imported.model import SCORERS, TrainedModel, config_of
from cear.retrieval.scorer import Scorer

FORMAT, VERSION = "cear-scorer", 1
ABOUT, WEIGHTS = "scorer.json", "scorer.safetensors"
_VECTORS = ("entity", "relation", "phase")  # whatever an embedding makes them of, they are written as rows
_TRAINING = set(GradientConfig.model_fields) - {"rank"}


@torch.no_grad()
def write_scorer(folder: Path, config: GradientConfig, scorer: Scorer, kb: KnowledgeBase) -> list[Path]:
    """Write a trained scorer with the ids of its knowledge base; scorer.json last, so that it stands for the whole."""
    vectors = {name: getattr(scorer, name)(None) for name in _VECTORS if hasattr(scorer, name)}
    tensors = {"entity": vectors.pop("entity"), "relation": next(iter(vectors.values()))}
    weights = scorer.state_dict().items()
    tensors |= {name: tensor for name, tensor in weights if name.split(".")[0] not in _VECTORS}
    write_tensors(folder / WEIGHTS, {name: tensor.detach().cpu() for name, tensor in tensors.items()})
    about = {
        "format": FORMAT,
        "version": VERSION,
        "model": config.model,
        "settings": model_settings(config),
        "entities": kb.entities.table["id"].to_list(),
        "relations": kb.relations.table["id"].to_list(),
        "reciprocal": True,
    }
    write_json(folder / ABOUT, about)
    return [folder / WEIGHTS, folder / ABOUT]


def model_settings(config: GradientConfig) -> dict[str, Any]:
    """The settings of a scorer without those of its training."""
    return config.model_dump(mode="json", exclude=_TRAINING)


def recognises(path: Path) -> bool:
    """Whether this is a folder with a scorer that we wrote."""
    return (path / ABOUT).is_file()


def files(given: ImportedSettings) -> list[Path]:
    """All that is read."""
    folder = Path(given.path)
    about = _about(folder)
    named = [about[key] for key in ("entities", "relations") if isinstance(about[key], str)]
    return [folder / ABOUT, folder / WEIGHTS, *(beside(folder / ABOUT, name) for name in named)]


def read(given: ImportedSettings) -> TrainedModel:
    """The scorer in a folder that the settings name."""
    return read_scorer(Path(given.path))


def read_scorer(folder: Path) -> TrainedModel:
    """The scorer in a folder."""
    about = _about(folder)
    config = config_of(about["model"], folder / ABOUT, **about["settings"])
    tensors, _ = read_tensors(folder / WEIGHTS)
    if lacking := {"entity", "relation"} - set(tensors):
        raise DataError(f"{folder / WEIGHTS} has no {' and no '.join(sorted(lacking))}; it holds {sorted(tensors)}.")
    entities, relations = (_ids(folder, about[key]) for key in ("entities", "relations"))
    model = TrainedModel(folder, config, entities, relations, tensors)
    if model.reciprocal != about["reciprocal"]:
        raise DataError(
            f"{folder / ABOUT} says reciprocal: {about['reciprocal']}, but there are {len(tensors['relation'])} "
            f"relation vectors for {len(model.relations)} relations. One of the two files is of another model."
        )
    return model


def _about(folder: Path) -> dict[str, Any]:
    path = folder / ABOUT
    about = read_json(path)
    keys = {"format", "version", "model", "settings", "entities", "relations", "reciprocal"}
    if not isinstance(about, dict) or keys - set(about) or about["format"] != FORMAT or about["version"] != VERSION:
        raise DataError(f"{path} is not a `{FORMAT}` of version {VERSION} with the keys {', '.join(sorted(keys))}.")
    if about["model"] not in SCORERS:
        raise DataError(f"{path} is of `{about['model']}`; the scorers that we know are {', '.join(SCORERS)}.")
    return about


def _ids(folder: Path, ids: list[str] | str) -> list[str]:
    return listed(beside(folder / ABOUT, ids)) if isinstance(ids, str) else ids
