"""A run of two stages: lists, re-ranker and fusion; stopped anywhere it goes on; asked, it shows both orders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cear.candidates import read_lists
from cear.config import RunConfig
from cear.core.errors import ConfigError, MismatchError, OutOfTime
from cear.pipeline import Run, open_run, run
from cear.reranking import SequenceReranker
from cear.retrieval import top_k

STAGE1 = {"rank": 8, "batch": 60, "epochs": 2}
RERANKER = {"hidden": 8, "max_tokens": 400, "epochs": 2, "learning_rate": 1e-3, "text": "name"}


def config_of(data: Path, encoder: str, **other: Any) -> RunConfig:
    """Cross-fitted lists of six, on an encoder of two tiny layers."""
    values: dict[str, Any] = {"data": str(data), "seed": 1, "stage1": STAGE1}
    values |= {"candidates": {"k": 6, "crossfit": {"folds": 3}}, "reranker": RERANKER | {"encoder": encoder}}
    return RunConfig.model_validate(values | other)


@pytest.fixture(scope="module")
def towns_folder(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> Path:
    return write_towns(tmp_path_factory.mktemp("data") / "towns")


@pytest.fixture(scope="module")
def config(towns_folder: Path, encoder_of: Callable[..., str]) -> RunConfig:
    return config_of(towns_folder, encoder_of())


@pytest.fixture(scope="module")
def both(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(config, tmp_path_factory.mktemp("runs") / "both")


def results(folder: Path) -> dict[str, bytes]:
    """What a run leaves that does not depend on the clock."""
    names = ["*/best.safetensors", "crossfit/*/best.safetensors", "candidates/*", "stage2/fusion.json"]
    found = [path for name in [*names, "stage2/model/*"] for path in folder.glob(name) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


class TestRun:
    def test_it_leaves_a_folder_that_opens_to_the_same_run(self, both: Run) -> None:
        again = open_run(both.folder)
        assert both.second is not None
        assert again.second is not None
        assert again.second.training == both.second.training
        assert again.second.fusion == both.second.fusion
        assert (again.second.lists, again.second.shortened) == (both.second.lists, both.second.shortened)
        mine, its = both.evaluate("test").summary()["both"], again.evaluate("test").summary()["both"]
        assert its == pytest.approx(mine)

    def test_every_query_has_a_rank_after_both_stages(self, both: Run) -> None:
        evaluation = both.evaluate("test")
        assert evaluation.before is not None
        assert len(evaluation.ranks) == len(evaluation.before.ranks) == 24
        assert np.array_equal(evaluation.before.ranks.above, Run.evaluate(replace(both, second=None)).ranks.above)

    def test_a_sample_of_facts_is_the_same_every_time(self, both: Run) -> None:
        one, again = (both.evaluate("test", facts=5) for _ in range(2))
        assert len(one.ranks) == 10
        assert np.array_equal(one.gold, again.gold)
        assert one.summary() == again.summary()

    def test_the_record_tells_both_stages_and_what_changed(self, both: Run) -> None:
        assert both.second is not None
        evaluation = both.evaluate("test")
        record = both.record(evaluation).as_json()
        assert list(record)[:5] == ["data", "split", "queries", "stage1", "stage2"]
        assert record["stage2"] == evaluation.summary()
        assert evaluation.before is not None
        assert record["stage1"] == evaluation.before.summary()
        assert sum(record["reranking"]["confusion"].values()) == 24
        details = record["details"]["reranker"]
        assert (details["k"], details["epochs"], details["lists"]) == (6, 2, both.second.lists)
        spent = both.training.seconds + both.second.training.seconds
        assert record["provenance"]["seconds"] > spent
        json.dumps(record, allow_nan=False)

    def test_run_again_it_trains_and_re_ranks_nothing(self, both: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        before = results(both.folder)
        monkeypatch.setattr(SequenceReranker, "rerank", lambda *_, **__: pytest.fail("it re-ranked"))
        again = run(both.config, both.folder)
        assert again.second is not None
        assert results(both.folder) == before

    def test_given_no_time_at_all_it_ends_the_same_in_the_end(
        self, both: Run, config: RunConfig, tmp_path: Path
    ) -> None:
        stops = []
        while True:
            try:
                run(config, tmp_path, minutes=0)
                break
            except OutOfTime as stop:
                stops.append(str(stop))
        for part in ("stage1", "fold0", "stage2"):
            assert sum(f"{part}." in stop for stop in stops) >= 2, f"{part} was stopped in the middle"
        assert results(tmp_path) == results(both.folder)
        assert {"stage1/best.safetensors", "crossfit/fold0/best.safetensors", "stage2/best.safetensors"} <= set(
            results(tmp_path)
        )

    def test_one_whose_second_stage_is_not_finished_says_so(self, both: Run, tmp_path: Path) -> None:
        copy = Path(shutil.copytree(both.folder, tmp_path / "copy"))
        (copy / "stage2" / "training.json").unlink()
        with pytest.raises(MismatchError, match=r"no finished run.*the same `cear run` continues it"):
            open_run(copy)
        assert run(both.config, copy).second is not None

    def test_the_papers_way_takes_the_lists_of_the_stage_1_that_saw_their_facts(
        self, config: RunConfig, tmp_path: Path
    ) -> None:
        paper = {"candidates": {"k": 6, "crossfit": None, "known": "keep"}, "fusion": "none"}
        done = run(RunConfig.model_validate(config.model_dump() | paper), tmp_path)
        assert done.second is not None
        assert not (tmp_path / "crossfit").exists()
        lists = read_lists(tmp_path / "candidates" / "train.parquet", done.kb)
        queries = done.kb.known("train").queries
        assert np.array_equal(lists.queries.entity, queries.entity)
        assert np.array_equal(lists.candidates.entities, top_k(done.scorer, queries, 6).entities)
        assert set(done.second.fusion.weights) == {1.0}

    def test_names_that_had_to_be_shortened_are_counted(
        self, towns_folder: Path, encoder_of: Callable[..., str], tmp_path: Path
    ) -> None:
        done = run(config_of(towns_folder, encoder_of("bert", 20)), tmp_path)
        assert done.second is not None
        assert done.second.shortened == 1.0
        assert len(done.evaluate("test").ranks) == 24, "and no query is lost"

    @pytest.mark.parametrize(
        ("positions", "message"), [(None, "No encoder"), (16, "6 candidates do not fit into 16 positions")]
    )
    def test_an_encoder_that_cannot_work_is_refused_before_anything_trains(
        self, towns_folder: Path, encoder_of: Callable[..., str], tmp_path: Path, positions: int | None, message: str
    ) -> None:
        folder = str(tmp_path / "nothing") if positions is None else encoder_of("bert", positions)
        with pytest.raises(ConfigError, match=message):
            run(config_of(towns_folder, folder), tmp_path / "run")
        assert not (tmp_path / "run").exists()


class TestAsk:
    def test_answers_are_in_the_final_order_with_their_places_before(self, both: Run) -> None:
        answers = both.ask("lies in", subject="Town 7", k=6)
        scores = [answer.score for answer in answers]
        assert None not in scores
        assert scores == sorted(scores, key=lambda score: -(score or 0))
        assert sorted(answer.stage1_rank for answer in answers) == [1, 2, 3, 4, 5, 6]
        first = replace(both, second=None).ask("lies in", subject="Town 7", k=6)
        assert {a.stage1_rank: a.name for a in answers} == {a.rank: a.name for a in first}

    def test_asked_for_more_than_the_list_holds_stage_1_goes_on(self, both: Run) -> None:
        few, many = both.ask("lies in", subject="Town 7", k=6), both.ask("lies in", subject="Town 7", k=30)
        assert many[:6] == few, "the list is no longer than the one that was trained for"
        assert [answer.stage1_rank for answer in many[6:]] == list(range(7, 31))
        assert {answer.score for answer in many[6:]} == {None}

    def test_asked_for_fewer_the_whole_list_is_read(self, both: Run) -> None:
        assert both.ask("lies in", subject="Town 7", k=2) == both.ask("lies in", subject="Town 7", k=6)[:2]

    def test_only_new_ones(self, both: Run) -> None:
        new = both.ask("lies in", object="Country B", k=30, new=True)
        assert {answer.known for answer in new} == {None}
        assert len(new) == 25
