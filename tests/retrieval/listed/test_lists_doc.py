"""The page on lists and exports keeps up with the code, and its examples work."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from cear.config import RunConfig
from cear.data import KnowledgeBase
from cear.pipeline.exporting import What
from cear.retrieval import ListsConfig, read_rankings

PAGE = (Path(__file__).parents[3] / "docs" / "lists-and-exports.md").read_text(encoding="utf-8")


def code(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", [name for name in ListsConfig.model_fields if name != "model"])
def test_every_setting_is_on_the_page(name: str) -> None:
    assert f"| `{name}` |" in PAGE


@pytest.mark.parametrize("what", get_args(What))
def test_everything_that_can_be_exported_is_on_the_page(what: str) -> None:
    assert f"| `{what}` |" in PAGE


@pytest.mark.parametrize("source", code("yaml"))
def test_its_configurations_are_some(source: str) -> None:
    config = RunConfig.model_validate(yaml.safe_load(source))
    assert "lists" in {config.stage1.model, *(each.model for each in config.candidates.extra_retrievers.values())}


@pytest.mark.parametrize("language", ["jsonl", "trec"])
def test_its_lists_are_read(language: str, towns: KnowledgeBase, tmp_path: Path) -> None:
    (source,) = code(language)
    (tmp_path / "theirs").write_text(source)
    assert read_rankings([tmp_path / "theirs"], towns).entities.row(0).tolist() == [26, 25]


def test_what_is_exported_is_judged_and_comes_back(
    write_towns: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    data = repr(str(write_towns(tmp_path / "towns")))
    (source,) = code("python")
    small = source.replace('"demo"', data).replace(
        f"cear.RunConfig(data={data})", f"cear.RunConfig(data={data}, stage1={{'rank': 4, 'epochs': 1}})"
    )
    names: dict[str, Any] = {}
    exec(compile(small, "lists-and-exports.md", "exec"), names)
    mrr = names["run"].evaluate("test").summary()["both"]["mrr"]
    assert str(mrr) in capsys.readouterr().out, "there are fewer than 100 towns, so nothing is cut off"
