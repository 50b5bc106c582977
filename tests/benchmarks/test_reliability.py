"""The reliability diagram is drawn from records, and is the same for the same ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cear.evaluation import Calibration

RIGHT = [True, False, True, True, False, True, True, True]
SAID = [0.9, 0.1, 0.8, 0.7, 0.2, 0.95, 0.6, 0.4]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    import numpy as np

    calibration = Calibration.of(np.array(SAID), np.array(RIGHT), bins=3).as_json()
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"data": "towns", "completion": {"calibration": calibration}}))
    return path


def test_it_names_the_data_and_its_error(script: Any, record: Path, tmp_path: Path) -> None:
    script("reliability").main([str(record), "--out", str(tmp_path / "one.svg")])
    script("reliability").main([str(record), "--out", str(tmp_path / "two.svg")])
    drawn = (tmp_path / "one.svg").read_text()
    error = json.loads(record.read_text())["completion"]["calibration"]["ece"]
    assert f"towns, error {error:.3f}" in drawn
    assert drawn == (tmp_path / "two.svg").read_text()
