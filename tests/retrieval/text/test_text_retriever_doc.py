"""The page on the text retriever keeps up with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from cear.config import RunConfig
from cear.retrieval.text import TextSettings, TuneConfig

PAGE = (Path(__file__).parents[3] / "docs" / "text-retriever.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*TextSettings.model_fields, *(f"tune.{name}" for name in TuneConfig.model_fields)])
def test_every_setting_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_its_configurations_are_ones() -> None:
    alone, beside = (
        RunConfig.model_validate(yaml.safe_load(text))
        for text in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    )
    assert alone.stage1.model == "text"
    assert beside.candidates.extra_retrievers["text"].model == "text"
