"""Sizes of the study: they become folders of runs and records, and are names."""

from __future__ import annotations

from pathlib import Path

import pytest

from cear.core.errors import ConfigError
from cear.study import Cell


@pytest.mark.parametrize("size", ["../../x", "/abs", "..", "a/b", "", "a\0b"])
def test_a_path_is_no_size(size: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name of a size"):
        Cell(Path("configs/towns/one.yaml")).in_size(size)
