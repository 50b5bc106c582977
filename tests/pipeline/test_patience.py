"""A retriever that says it is slow: its rankings are estimated before they start, and may be refused."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cear.candidates import Retrievers
from cear.cli import main
from cear.config import RunConfig
from cear.core.context import HERE
from cear.core.errors import TooSlow
from cear.core.types import Queries
from cear.data import KnowledgeBase
from cear.pipeline import open_run, run
from cear.pipeline.patience import refuse_slow
from cear.retrieval import ComplEx, ComplExConfig

CONFIG = "data: {data}\nstage1: {{rank: 4, batch: 60, epochs: 1}}\n"
QUERIES = Queries(np.array([0, 1, 0]), np.array([0, 0, 0]))  # two of them are one


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets ComplEx say that a score takes so many seconds."""
    return lambda seconds: monkeypatch.setattr(ComplEx, "seconds_a_score", lambda _: seconds, raising=False)


@pytest.fixture
def retrievers(towns: KnowledgeBase) -> Retrievers:
    return Retrievers(towns, ComplExConfig(rank=4).build(towns, HERE))


@pytest.fixture
def place(tmp_path: Path, write_towns: Callable[..., Path]) -> Path:
    (tmp_path / "towns.yaml").write_text(CONFIG.format(data=write_towns(tmp_path / "towns")))
    return tmp_path


def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """How a command ends, and what it says beside its results."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setattr(sys, "argv", ["cear", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0), capsys.readouterr().err


class TestEstimate:
    def test_it_is_distinct_queries_times_entities_times_seconds(self, slow: Any, retrievers: Retrievers) -> None:
        slow(10.0)  # 2 queries × 30 entities × 10 seconds are 10 minutes
        refuse_slow(retrievers, QUERIES, 10.0)
        with pytest.raises(TooSlow, match=r"Ranking 2 queries among 30 entities takes about 10.0 minutes here"):
            refuse_slow(retrievers, QUERIES, 9.9)

    def test_it_is_told_where_nothing_is_refused(
        self, slow: Any, retrievers: Retrievers, caplog: pytest.LogCaptureFixture
    ) -> None:
        slow(1e4)
        with caplog.at_level(logging.INFO, "cear.pipeline"):
            refuse_slow(retrievers, QUERIES, None)
        assert "takes about 6.9 days here" in caplog.text

    def test_who_is_not_slow_is_not_measured(self, retrievers: Retrievers, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, "cear.pipeline"):
            refuse_slow(retrievers, QUERIES, 0.0)
        assert caplog.text == ""

    def test_slow_ones_show_progress_query_by_query(self, slow: Any, retrievers: Retrievers) -> None:
        assert retrievers.block_rows > 1
        slow(1.0)
        assert retrievers.block_rows == 1


class TestCommandLine:
    def test_run_trains_and_refuses_to_rank_unless_it_is_agreed_to(
        self, slow: Any, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        slow(10.0)
        command = ["run", place / "towns.yaml", "--out", place / "run"]
        code, said = call(monkeypatch, capsys, *command)
        assert code == 2
        assert "hours here" in said
        assert "--yes" in said
        assert not (place / "run" / "test.json").exists()
        assert call(monkeypatch, capsys, *command, "--facts", "1")[0] == 0, "two queries take ten minutes"
        assert call(monkeypatch, capsys, *command, "--yes")[0] == 0
        assert (place / "run" / "test.json").exists()

    def test_evaluate_asks_as_well_and_python_does_not(
        self, slow: Any, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        slow(10.0)
        config = RunConfig.parse({"data": str(place / "towns"), "stage1": {"rank": 4, "epochs": 1}}, source="here")
        run(config, place / "run")
        assert call(monkeypatch, capsys, "evaluate", place / "run")[0] == 2
        assert open_run(place / "run").evaluate("test").summary()
        assert call(monkeypatch, capsys, "evaluate", place / "run")[0] == 0, "what is kept is not ranked again"
        assert call(monkeypatch, capsys, "evaluate", place / "run", "--split", "valid", "--yes")[0] == 0

    def test_lists_for_a_second_stage_are_ranked_and_refused_alike(
        self, slow: Any, place: Path, encoder_of: Callable[..., str]
    ) -> None:
        slow(1.0)
        reranker = {"kind": "kg_bert", "encoder": encoder_of(), "form_tokens": 4}
        config = RunConfig.parse({"data": str(place / "towns"), "reranker": reranker}, source="here")
        small = config.model_copy(update={"stage1": ComplExConfig(rank=4, epochs=1)})
        with pytest.raises(TooSlow):
            run(small, place / "run", ranking_minutes=1.0)
