"""Outside truth: PyKEEN loads what is exported, by the lines that stand beside it, and gives the same scores."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from cear.core.context import HERE
from cear.core.errors import ConfigError
from cear.core.types import Queries
from cear.data import KnowledgeBase
from cear.retrieval import RETRIEVERS, export_pykeen

TAKEN: list[dict[str, Any]] = [
    {"model": "complex"},
    {"model": "distmult"},
    {"model": "transe", "norm": 1},
    {"model": "transe", "norm": 2},
    {"model": "transe", "norm": 2, "squared": True},
    {"model": "rotate", "norm": 2},
]


def scorer_of(kb: KnowledgeBase, settings: dict[str, Any]) -> Any:
    config: Any = RETRIEVERS[settings["model"]].model_validate({"rank": 6, "embedding": {"scale": 0.5}, **settings})
    return config.build(kb, HERE)


@pytest.mark.parametrize("settings", TAKEN, ids=str)
@pytest.mark.filterwarnings("ignore")  # PyKEEN's own
def test_pykeen_gives_the_same_scores_to_all_tails_and_heads(
    settings: dict[str, Any], towns: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = scorer_of(towns, settings)
    export_pykeen(tmp_path, scorer, towns)
    monkeypatch.chdir(tmp_path)
    (lines,) = re.findall(r"```python\n(.*?)```", (tmp_path / "README.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(lines, "README.md", "exec"), names)
    model = names["model"].eval()
    entity, relation = (part.reshape(-1) for part in np.meshgrid(np.arange(30), np.arange(3)))
    asked = np.stack([entity, relation], axis=1)
    with torch.no_grad():
        tails, heads = (scorer.score_all(Queries(entity, r)) for r in (relation, relation + 3))
        torch.testing.assert_close(model.predict_t(torch.from_numpy(asked)), tails, atol=1e-5, rtol=1e-5)
        theirs = model.predict_h(torch.from_numpy(asked[:, ::-1].copy()))
        torch.testing.assert_close(theirs, heads, atol=1e-5, rtol=1e-5)


def test_integers_are_explained(towns: KnowledgeBase, tmp_path: Path) -> None:
    export_pykeen(tmp_path, scorer_of(towns, {"model": "distmult"}), towns)
    table = pl.read_csv(tmp_path / "entity_to_id.tsv", separator="\t")
    assert table["label"].to_list() == towns.entities.table["id"].to_list()
    assert table["id"].to_list() == [*range(30)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "conve", "rank": 4, "image_width": 2, "kernel": 2, "channels": 3}, "no model that scores as ConvE"),
        ({"model": "rotate", "norm": 1}, "PyKEEN's RotatE has the Euclidean distance alone"),
    ],
)
def test_what_pykeen_cannot_take_is_refused(
    settings: dict[str, Any], message: str, towns: KnowledgeBase, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        export_pykeen(tmp_path, scorer_of(towns, settings), towns)
    assert not [*tmp_path.iterdir()]
