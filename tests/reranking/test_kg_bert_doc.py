"""The page on KG-BERT keeps up with the code, and its code runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cear.config import RunConfig
from cear.reranking import CrossEncoderConfig, KgBertRerankerConfig
from cear.retrieval import Classification, KgBertConfig, RelationPredictionConfig

PAGE = (Path(__file__).parents[2] / "docs" / "kg-bert.md").read_text(encoding="utf-8")
PUBLISHED = PAGE.partition("## A published cross-encoder")[2]
OWN = {*CrossEncoderConfig.model_fields} - {*KgBertRerankerConfig.model_fields}


def code(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("config", [KgBertRerankerConfig, KgBertConfig, RelationPredictionConfig])
def test_every_setting_is_on_the_page(config: Any) -> None:
    assert [name for name in config.model_fields if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize("name", [*OWN, "text", "form_tokens", "learning_rate"])
def test_settings_of_a_cross_encoder_are_in_its_section(name: str) -> None:
    assert f"`{name}`" in PUBLISHED


def test_its_configurations_are_ones() -> None:
    second, first, published = (RunConfig.model_validate(yaml.safe_load(text)) for text in code("yaml"))
    assert isinstance(second.reranker, KgBertRerankerConfig)
    assert first.stage1.model == "kg_bert"
    assert isinstance(published.reranker, CrossEncoderConfig)
    assert not published.reranker.tune


def test_its_code_judges_facts_and_predicts_relations(
    write_towns: Callable[..., Path], encoder_of: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = "\n".join(code("python")).replace('"demo"', repr(str(write_towns(tmp_path / "towns"))))
    small = f"Config(encoder={encoder_of()!r}, form_tokens=4, "
    names: dict[str, Any] = {}
    exec(compile(source.replace("Config(", small), "kg-bert.md", "exec"), names)
    assert isinstance(names["figures"], Classification)
    assert len(names["predictor"].ranks("test")) == 12
