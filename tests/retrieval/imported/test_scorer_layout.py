"""Our own layout: whatever scorer is written is read again as the same, with its rows by id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.core.context import Context
from cear.core.errors import DataError
from cear.core.types import Queries
from cear.data import KnowledgeBase
from cear.retrieval import RETRIEVERS, GradientConfig, write_scorer
from cear.retrieval.imported.aligning import scorer_of
from cear.retrieval.imported.layout import read_scorer
from cear.retrieval.imported.model import SCORERS

SMALL: dict[str, dict[str, Any]] = {
    "complex": {},
    "complex, names": {"model": "complex", "embedding": {"kind": "lstm"}},
    "conve": {"image_width": 2, "kernel": 2, "channels": 3},
    "coper_conve": {"image_width": 2, "kernel": 2, "channels": 3},
    "distmult": {},
    "rotate": {"norm": 1},
    "transe": {"squared": True},
}


def test_every_scorer_of_the_registry_can_be_written() -> None:
    scorers = {name for name, config in RETRIEVERS.items() if issubclass(config, GradientConfig)}
    assert scorers == set(SCORERS)
    assert {settings.get("model", name) for name, settings in SMALL.items()} == scorers


@pytest.mark.parametrize("name", SMALL)
def test_what_is_written_is_read(towns: KnowledgeBase, tmp_path: Path, name: str) -> None:
    settings = {"model": name, "rank": 4} | SMALL[name]
    config = SCORERS[settings["model"]].model_validate(settings)
    scorer = config.build(towns, Context(seed=3))
    write_scorer(tmp_path, config, scorer, towns)
    again = scorer_of(read_scorer(tmp_path), towns)
    queries = Queries(np.arange(12), np.arange(12) % (2 * towns.n_relations))
    with torch.no_grad():
        assert torch.equal(again.score_all(queries), scorer.score_all(queries))


@pytest.fixture
def written(towns: KnowledgeBase, tmp_path: Path) -> Path:
    config = SCORERS["distmult"].model_validate({"rank": 4})
    write_scorer(tmp_path, config, config.build(towns, Context()), towns)
    return tmp_path


def change(folder: Path, **values: Any) -> None:
    about = json.loads((folder / "scorer.json").read_text())
    (folder / "scorer.json").write_text(json.dumps(about | values))


def test_what_it_says_about_itself(written: Path, towns: KnowledgeBase) -> None:
    about = json.loads((written / "scorer.json").read_text())
    assert (about["format"], about["version"], about["model"]) == ("cear-scorer", 1, "distmult")
    assert about["settings"] == {"rank": 4, "relation_prediction": 0.0}
    assert about["entities"] == towns.entities.table["id"].to_list()
    assert about["reciprocal"] is True


def test_ids_may_stand_in_a_file(written: Path, towns: KnowledgeBase) -> None:
    (written / "entities.txt").write_text("".join(f"{id_}\n" for id_ in towns.entities.table["id"]))
    change(written, entities="entities.txt")
    assert read_scorer(written).entities == towns.entities.table["id"].to_list()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"version": 2}, "not a `cear-scorer` of version 1"),
        ({"model": "rescal"}, "is of `rescal`; the scorers that we know are complex, conve"),
        ({"reciprocal": False}, "says reciprocal: False, but there are 6 relation vectors for 3 relations"),
        ({"entities": ["one"]}, r"shape \(30, 4\), but its ids ask for 1 rows"),
    ],
)
def test_what_does_not_fit_is_refused(written: Path, values: dict[str, Any], says: str) -> None:
    change(written, **values)
    with pytest.raises(DataError, match=says):
        read_scorer(written)


def test_a_file_that_is_cut_off_is_refused(written: Path) -> None:
    path = written / "scorer.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"scorer.safetensors cannot be read"):
        read_scorer(written)
