"""What scorer.json names: files beside it, and none of the reader's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cear.core.errors import DataError
from cear.core.tensors import write_tensors
from cear.retrieval.imported.layout import read_scorer


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "..", "a/b", "", "a\0b"])
def test_ids_are_read_from_no_other_folder(name: str, tmp_path: Path) -> None:
    import torch

    (tmp_path / "secret.txt").write_text("a secret\n")
    place = tmp_path / "scorer"
    write_tensors(place / "scorer.safetensors", {"entity": torch.ones(1, 4), "relation": torch.ones(2, 4)})
    about = {"format": "cear-scorer", "version": 1, "model": "distmult", "settings": {"rank": 4}, "reciprocal": True}
    (place / "scorer.json").write_text(json.dumps(about | {"entities": name, "relations": ["in"]}))
    with pytest.raises(DataError, match=r"scorer\.json names .*expected the name of a file beside it"):
        read_scorer(place)
