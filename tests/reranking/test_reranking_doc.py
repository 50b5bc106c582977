"""The page on re-ranking keeps up with the code, and its code runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cear.candidates import CandidatesConfig, CrossfitConfig
from cear.config import RunConfig
from cear.reranking import EndToEndConfig, SequenceConfig, SequenceReranker, Upstream, WideConfig, load_reranker

PAGE = (Path(__file__).parents[2] / "docs" / "reranking.md").read_text(encoding="utf-8")
WIDE = (Path(__file__).parents[2] / "docs" / "wide.md").read_text(encoding="utf-8")
SETTINGS = [name for group in (SequenceConfig, CandidatesConfig, CrossfitConfig) for name in group.model_fields]


def code(language: str, page: str = PAGE) -> str:
    found: str = re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
    return found


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("name", WideConfig.model_fields)
def test_every_setting_of_the_wide_one_is_on_its_page(name: str) -> None:
    assert re.search(rf"`{name}[`:]", WIDE)


@pytest.mark.parametrize("name", EndToEndConfig.model_fields)
def test_every_setting_of_the_last_phase_is_in_its_section(name: str) -> None:
    assert f"`{name}`" in WIDE.partition("## End to end")[2].partition("\n## ")[0]


def test_the_configuration_of_the_wide_one_is_one() -> None:
    config = RunConfig.model_validate(yaml.safe_load(code("yaml", WIDE)))
    assert isinstance(config.reranker, WideConfig)
    assert config.candidates.extra_retrievers["rules"].model == "rules"


def test_the_configuration_is_one() -> None:
    config = RunConfig.model_validate(yaml.safe_load(code("yaml")))
    assert config.reranker is not None
    assert config.candidates.crossfit is not None


def test_lists_of_your_own_are_read_and_learned_from(
    write_towns: Callable[..., Path], encoder_of: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = f"SequenceConfig(encoder={encoder_of()!r}, hidden=8, text='name', "
    names: dict[str, Any] = {}
    source = code("python").replace('"demo"', repr(str(write_towns(tmp_path / "towns"))))
    exec(compile(source.replace("SequenceConfig(", small), "reranking.md", "exec"), names)
    assert names["trained"].phases["learning"].epoch == 1
    assert isinstance(load_reranker(tmp_path / "mine" / "model", Upstream(names["kb"])), SequenceReranker)
