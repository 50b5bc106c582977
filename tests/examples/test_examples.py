"""The examples run as they stand, with less to train."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"


@pytest.mark.filterwarnings("ignore:.*pin_memory")  # PyKEEN asks for it also where there is no GPU
def test_a_model_of_pykeen_becomes_stage_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("example_pykeen_model", FOLDER / "pykeen_model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(tmp_path, epochs=1)
    first, second, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("PyKEEN's ComplEx  MRR 0.")
    assert second.startswith("re-ranked         MRR 0.")
    right = {name: int(count) for name, _, count in (line.rpartition(": ") for line in lines if ": " in line)}
    by_probability, by_stage1 = (
        right[f"right of the first 100 proposals, sorted by {name}"] for name in ("probability", "Stage 1's score")
    )
    assert by_probability > 2 * by_stage1
