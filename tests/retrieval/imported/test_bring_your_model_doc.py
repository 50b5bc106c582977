"""The page on imported models keeps up with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from cear.config import RunConfig
from cear.retrieval.imported import layout, pykeen, rotate_repository, vectors
from cear.retrieval.imported.config import ImportedSettings

PAGE = (Path(__file__).parents[3] / "docs" / "bring-your-model.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ImportedSettings.model_fields)
def test_every_setting_is_on_the_page(name: str) -> None:
    assert re.search(rf"^\| .*`{name}`.* \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS)
def test_every_configuration_is_one(block: str) -> None:
    assert RunConfig.parse(yaml.safe_load(block), source="the page")


def test_every_file_that_is_looked_for_is_on_the_page() -> None:
    names = (pykeen.MODEL, rotate_repository.ENTITY, rotate_repository.RELATION, vectors.TENSORS)
    assert [name for name in (*names, layout.ABOUT, layout.WEIGHTS) if f"`{name}`" not in PAGE] == []
