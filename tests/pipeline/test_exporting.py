"""A finished run for other tools: what there is to export, and cards whose code works."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from cear.candidates import read_lists
from cear.config import RunConfig
from cear.core.errors import ConfigError
from cear.core.types import SPLITS
from cear.pipeline import Run, run
from cear.reranking import WideReranker

STAGE1 = {"rank": 8, "batch": 60, "epochs": 2}
WIDE = {"kind": "wide", "text": False, "epochs": 1}
RULES = {"rules": {"model": "rules", "min_support": 1}}
CROSSFIT = {"k": 6, "crossfit": {"folds": 3}}


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path], encoder_of: Callable[..., str]
) -> Callable[..., Run]:
    """A run on the towns with these settings."""
    data, store = write_towns(tmp_path_factory.mktemp("data") / "towns"), tmp_path_factory.mktemp("store")
    sequence = {"hidden": 8, "max_tokens": 400, "epochs": 1, "text": "name", "encoder": encoder_of()}

    def make(kind: str) -> Run:
        settings: dict[str, dict[str, Any]] = {
            "one stage": {"stage1": STAGE1},
            "rules": {"stage1": {"model": "rules", "min_support": 1}},
            "sequence": {"stage1": STAGE1, "candidates": CROSSFIT, "reranker": sequence},
            "wide": {"stage1": STAGE1, "candidates": CROSSFIT | {"extra_retrievers": RULES}, "reranker": WIDE},
            "wide, vectors": {"stage1": STAGE1, "candidates": CROSSFIT, "reranker": WIDE | {"vectors": True}},
        }
        config = RunConfig.model_validate({"data": str(data), **settings[kind]})
        return run(config, tmp_path_factory.mktemp("runs") / "run", store=store)

    return make


def front_matter(card: str) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load(card.split("---\n")[1])
    return values


def run_code(card: str, **places: Path | str) -> dict[str, Any]:
    """What the code of a card leaves, its places filled in."""
    (source,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    for name, place in places.items():
        source = source.replace(f'"{name}"', repr(str(place)))
    names: dict[str, Any] = {}
    exec(compile(source, "README.md", "exec"), names)
    return names


class TestAll:
    @pytest.mark.parametrize(
        ("kind", "there"),
        [
            ("one stage", {"test.run", "test.qrels", "test.lists", "README.md", "scorer", "pykeen"}),
            ("rules", {"test.run", "test.qrels", "test.lists", "README.md"}),
            ("wide", {"test.run", "test.qrels", "test.lists", "README.md", "scorer", "pykeen", "reranker"}),
        ],
    )
    def test_is_what_the_run_has(self, made: Callable[..., Run], tmp_path: Path, kind: str, there: set[str]) -> None:
        written = made(kind).export(tmp_path / "out", k=5)
        assert {path.name for path in (tmp_path / "out").iterdir()} == there
        assert sorted(written) == sorted(path for path in (tmp_path / "out").rglob("*") if path.is_file())

    def test_exported_again_it_is_the_same(self, made: Callable[..., Run], tmp_path: Path) -> None:
        done = made("one stage")
        before = {path: path.read_bytes() for path in done.export(tmp_path, "lists", k=5)}
        assert {path: path.read_bytes() for path in done.export(tmp_path, "lists", k=5)} == before

    @pytest.mark.parametrize(
        ("what", "message"),
        [("reranker", "no second stage"), ("scorer", "has no vectors"), ("pykeen", "PyKEEN has no model")],
    )
    def test_what_there_is_not_is_refused(
        self, made: Callable[..., Run], tmp_path: Path, what: Any, message: str
    ) -> None:
        with pytest.raises(ConfigError, match=message):
            made("rules").export(tmp_path, what)


def test_an_exported_scorer_comes_back_as_stage_1_with_every_rank(made: Callable[..., Run], tmp_path: Path) -> None:
    done = made("one stage")
    done.export(tmp_path / "out", "scorer")
    values = {"data": done.config.data, "stage1": {"model": "imported", "path": str(tmp_path / "out" / "scorer")}}
    again = run(RunConfig.parse(values, source="here"), tmp_path / "again").evaluate("test")
    assert np.array_equal(again.ranks.under(), done.evaluate("test").ranks.under())


class TestCards:
    def test_a_run_says_what_it_is_and_how_it_is_opened(
        self, made: Callable[..., Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        done = made("one stage")
        (path,) = done.export(tmp_path, "card")
        card, mrr = path.read_text(), done.evaluate("test").summary()["both"]["mrr"]
        assert front_matter(card)["datasets"] == ["towns"]
        assert "base_model" not in front_matter(card)
        assert f"{mrr:.4f} [" in card
        assert done.kb.digest in card
        run_code(card, RUN=done.folder)
        assert str(mrr) in capsys.readouterr().out

    @pytest.mark.parametrize("kind", ["sequence", "wide", "wide, vectors"])
    def test_a_reranker_is_loaded_as_its_card_says(
        self, made: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
    ) -> None:
        done = made(kind)
        monkeypatch.chdir(Path(done.config.data).parent)  # a card says `towns`, not where they were
        done.export(tmp_path / "out", "reranker")
        card = (tmp_path / "out" / "reranker" / "README.md").read_text()
        again = run_code(card, RUN=done.folder, FOLDER=tmp_path / "out" / "reranker")["reranker"]
        lists = done.ranker.places(done.kb.queries("test"), done.kb.gold("test"), {}).lists
        assert lists is not None
        assert done.ranker.reranker is not None
        assert np.array_equal(again.rerank(lists), done.ranker.reranker.rerank(lists))
        assert isinstance(again, WideReranker) == ("wide" in kind)
        assert "| re-ranked, both |" in card
        assert f"{done.plan.reranker_training()['lists']} lists of 6 candidates" in card
        assert ("base_model" in front_matter(card)) == (kind == "sequence")


def test_lists_of_one_run_are_a_stage_1_that_another_re_ranks(made: Callable[..., Run], tmp_path: Path) -> None:
    """Stage 1 from files of valid and test, and a file of training queries to learn from."""
    first = made("one stage")
    train, valid, test = (str(*first.export(tmp_path, "lists", split=split)) for split in SPLITS)
    second = made("sequence").config.model_dump()
    second |= {"stage1": {"model": "lists", "path": [valid, test]}, "candidates": {"k": 6, "lists": train}}
    done = run(RunConfig.model_validate(second), tmp_path / "run")
    measured = done.evaluate("test")
    assert measured.before is not None
    assert measured.before.summary() == first.evaluate("test").summary()
    assert not np.array_equal(measured.ranks.above, measured.before.ranks.above)
    (_, step), *_ = done.plan.training_lists
    assert read_lists(done.plan.store.get(step) / "lists.parquet", done.kb).candidates.k == 6
