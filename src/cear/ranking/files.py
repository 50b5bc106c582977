"""Places on disk: the lists as Parquet, Stage 1's ranks and scores as tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from cear.candidates import read_lists, write_lists
from cear.core.reading import reading
from cear.core.tensors import read_tensors, write_tensors
from cear.core.types import Ragged, Ranks
from cear.data import KnowledgeBase
from cear.ranking.places import Places

LISTS, STAGE1 = "lists.parquet", "stage1.safetensors"


def write_places(folder: Path, places: Places) -> None:
    """Write the places of queries whose golds whoever reads them knows."""
    assert places.lists is not None
    assert places.listed_scores is not None
    write_lists(folder / LISTS, places.lists)
    arrays: dict[str, npt.NDArray[Any]] = {"gold_scores": places.gold_scores, "listed_scores": places.listed_scores}
    for name, ranks in places.ranks.items():
        arrays |= {f"{name}.above": ranks.above, f"{name}.tied": ranks.tied}
    write_tensors(folder / STAGE1, {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in arrays.items()})


def read_places(folder: Path, kb: KnowledgeBase) -> Places:
    """The places in a folder; their golds are not in it."""
    lists = read_lists(folder / LISTS, kb)
    arrays = {name: tensor.numpy() for name, tensor in read_tensors(folder / STAGE1)[0].items()}
    nothing = Ragged.empty(len(lists))
    with reading(folder / STAGE1):
        filters = sorted(name.removesuffix(".above") for name in arrays if name.endswith(".above"))
        ranks = {name: Ranks(arrays[f"{name}.above"], arrays[f"{name}.tied"]) for name in filters}
        return Places(lists.queries, nothing, ranks, arrays["gold_scores"], lists, arrays["listed_scores"])
