"""A run of two stages: lists, re-ranker and fusion; stopped anywhere it goes on; asked, it shows both orders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cear.candidates import read_lists, write_lists
from cear.config import RunConfig
from cear.core.errors import ConfigError, DataError, MismatchError, OutOfTime
from cear.evaluation import evaluate
from cear.pipeline import Run, lay_out, open_run, run
from cear.pipeline.making import LISTS
from cear.reranking import SequenceReranker
from cear.retrieval import top_k
from cear.steps import Step

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


def artefacts(done: Run) -> dict[str, bytes]:
    """Every file of every step, by step and name; reports have dates and seconds, and are left out."""
    steps: dict[str, Step] = {each.key: each for last in done.plan.last for each in last.chain()}
    folders = {f"{step.name} {step.key[:8]}": done.plan.store.get(step) for step in steps.values()}
    return {
        f"{name}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for name, folder in folders.items()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("step.json", "seal.json")
    }


class TestRun:
    def test_it_leaves_a_folder_that_opens_to_the_same_run(self, both: Run) -> None:
        again = open_run(both.folder)
        assert again.ranker.fusion == both.ranker.fusion
        assert again.plan.reranker_training() == both.plan.reranker_training()
        mine, its = both.evaluate("test").summary()["both"], again.evaluate("test").summary()["both"]
        assert its == pytest.approx(mine)

    def test_every_query_has_a_rank_after_both_stages(self, both: Run) -> None:
        evaluation = both.evaluate("test")
        assert evaluation.before is not None
        assert len(evaluation.ranks) == len(evaluation.before.ranks) == 24
        alone = evaluate(both.scorer, both.kb, "test")
        assert np.array_equal(evaluation.before.ranks.above, alone.ranks.above)

    def test_its_curves_tell_of_every_training(self, both: Run) -> None:
        epochs = pl.read_csv(both.folder / "curves.csv").group_by("training").len()
        assert dict(epochs.iter_rows()) == {"stage1": 2, "fold 0, stage1": 2, "re-ranker, learning": 2}

    def test_a_sample_of_facts_is_the_same_every_time(self, both: Run) -> None:
        one, again = (both.evaluate("test", facts=5) for _ in range(2))
        assert len(one.ranks) == 10
        assert np.array_equal(one.gold, again.gold)
        assert one.summary() == again.summary()

    def test_an_evaluation_under_cares_protocol_is_a_step_of_its_own(self, both: Run) -> None:
        """That of ours has the key that it had before there was a choice."""
        ours, care = (both.plan.evaluation("test", "expected", None, protocol) for protocol in ("ours", "care"))
        assert {key for key in care.settings if key not in ours.settings} == {"protocol"}
        measured = both.evaluate("test", protocol="care")
        assert measured.before is not None
        assert measured.before.protocol == measured.protocol == "care"
        assert both.record(measured).as_json()["protocol"] == "care"
        assert "protocol" not in both.record(both.evaluate("test")).as_json()

    def test_the_record_tells_both_stages_and_what_changed(self, both: Run) -> None:
        evaluation = both.evaluate("test")
        record = both.record(evaluation).as_json()
        assert list(record)[:5] == ["data", "split", "queries", "stage1", "stage2"]
        assert record["stage2"] == evaluation.summary()
        assert evaluation.before is not None
        assert record["stage1"] == evaluation.before.summary()
        assert sum(record["reranking"]["confusion"].values()) == 24
        details = record["details"]["reranker"]
        assert (details["k"], details["epochs"]) == (6, 2)
        json.dumps(record, allow_nan=False)

    def test_the_record_costs_the_whole_chain(self, both: Run) -> None:
        record = both.record(both.evaluate("test")).as_json()
        steps = record["provenance"]["steps"]
        names = [step["name"] for step in steps]
        for part in ("stage1", "fold 0, stage1", "fold 0, lists", "validation lists", "re-ranker", "fusion"):
            assert part in names, "nobody works for nothing"
        assert record["provenance"]["seconds"] == pytest.approx(sum(step["seconds"] for step in steps))
        for step in steps:
            assert step["seconds"] > 0
            assert step["cpu_seconds"] >= 0
            assert step["threads"] >= 1
            assert step["peak_bytes"] > 10**6
            assert step["device"] == "cpu"
            assert step["version"]

    def test_a_store_that_forgot_a_step_does_not_make_the_run_cheaper(self, both: Run, tmp_path: Path) -> None:
        copy = Path(shutil.copytree(both.folder, tmp_path / "copy"))
        shutil.rmtree(copy / "steps" / "lists")
        opened = open_run(copy)
        assert [report.spent for report in opened.steps()] == [report.spent for report in both.steps()]

    def test_run_again_it_trains_and_re_ranks_nothing(self, both: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        before = artefacts(both)
        monkeypatch.setattr(SequenceReranker, "rerank", lambda *_, **__: pytest.fail("it re-ranked"))
        again = run(both.config, both.folder)
        assert all(report.reused for report in again.steps())
        assert artefacts(again) == before

    @pytest.mark.parametrize(
        "change",
        [
            {"reranker.seed": 7},
            {"reranker.precision": "bf16"},
            {"reranker.epochs": 1},
            {"candidates.k": 4},
            {"fusion": "none"},
        ],
        ids=str,
    )
    def test_another_second_stage_trains_no_retriever_again(
        self, both: Run, config: RunConfig, tmp_path: Path, change: dict[str, Any]
    ) -> None:
        values = config.model_dump()
        for key, value in change.items():
            *groups, last = key.split(".")
            group = values
            for name in groups:
                group = group[name]
            group[last] = value
        done = run(RunConfig.model_validate(values), tmp_path, store=both.plan.store.folder)
        reports = {report.name: report.reused for report in done.steps()}
        assert reports["stage1"]
        assert reports["fold 0, stage1"]
        assert reports["fold 0, lists"] == ("candidates.k" not in change)
        assert reports["re-ranker"] == (change == {"fusion": "none"})

    def test_given_no_time_at_all_it_ends_the_same_in_the_end(
        self, both: Run, config: RunConfig, tmp_path: Path
    ) -> None:
        stops = []
        while True:
            try:
                done = run(config, tmp_path, minutes=0)
                break
            except OutOfTime as stop:
                stops.append(str(stop))
        for part in ("retriever-complex", "reranker-sequence"):
            assert sum(part in stop for stop in stops) >= 2, f"{part} was stopped in the middle"
        assert artefacts(done) == artefacts(both)
        assert any("best.safetensors" in name for name in artefacts(both))

    def test_one_whose_second_stage_is_not_finished_says_so(self, both: Run, tmp_path: Path) -> None:
        copy = Path(shutil.copytree(both.folder, tmp_path / "copy"))
        shutil.rmtree(copy / "steps" / "reranker-sequence")
        with pytest.raises(MismatchError, match=r"no finished run: its re-ranker is no longer"):
            open_run(copy)
        assert run(both.config, copy).evaluate("test").before is not None

    def test_the_papers_way_takes_the_lists_of_the_stage_1_that_saw_their_facts(
        self, config: RunConfig, tmp_path: Path
    ) -> None:
        paper = {"candidates": {"k": 6, "crossfit": None, "known": "keep"}, "fusion": "none"}
        done = run(RunConfig.model_validate(config.model_dump() | paper), tmp_path)
        assert "fold" not in " ".join(report.name for report in done.steps())
        (_, step), *rest = done.plan.training_lists
        assert not rest
        lists = read_lists(done.plan.store.get(step) / "lists.parquet", done.kb)
        queries = done.kb.known("train").queries
        assert np.array_equal(lists.queries.entity, queries.entity)
        assert np.array_equal(lists.candidates.entities, top_k(done.scorer, queries, 6).entities)
        assert set(done.ranker.fusion.weights) == {1.0}

    def test_many_lists_are_made_in_pieces_and_are_the_same(
        self, both: Run, config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("cear.pipeline.plan.LISTS_AT_A_TIME", 3)
        cut = lay_out(config, tmp_path / "cut", store=tmp_path / "store")
        for (_, whole), (_, pieced) in zip(both.plan.training_lists, cut.training_lists, strict=True):
            assert len(pieced.cut()) > 1
            one, other = (
                read_lists(plan.store.get(step) / LISTS, plan.kb) for plan, step in ((both.plan, whole), (cut, pieced))
            )
            assert np.array_equal(one.candidates.entities, other.candidates.entities)
            assert np.allclose(one.candidates.scores, other.candidates.scores, atol=1e-6)
            assert pieced.key == whole.key
        assert not any((tmp_path / "store" / "some-lists").glob("*/")), "pieces that are joined are gone"

    def test_lists_of_your_own_are_learned_from(self, both: Run, config: RunConfig, tmp_path: Path) -> None:
        (_, step), *_ = both.plan.training_lists
        made = read_lists(both.plan.store.get(step) / "lists.parquet", both.kb)
        write_lists(tmp_path / "mine.parquet", made[:20])
        values = config.model_dump()
        values["candidates"] |= {"lists": str(tmp_path / "mine.parquet")}
        done = run(RunConfig.model_validate(values), tmp_path / "run")
        assert done.plan.reranker_training()["lists"] <= 20
        (tmp_path / "mine.parquet").unlink()
        assert open_run(tmp_path / "run").evaluate("test").summary() == done.evaluate("test").summary()
        write_lists(tmp_path / "mine.parquet", made[:30])
        again = run(RunConfig.model_validate(values), tmp_path / "run")
        assert not {report.name: report.reused for report in again.steps()}["re-ranker"], "other lists, another model"

    def test_names_that_had_to_be_shortened_are_counted(
        self, towns_folder: Path, encoder_of: Callable[..., str], tmp_path: Path
    ) -> None:
        done = run(config_of(towns_folder, encoder_of("bert", 20)), tmp_path)
        assert done.plan.reranker_training()["shortened"] == 1.0
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
        known, *answers = both.ask("lies in", subject="Town 7", k=6)
        assert (known.rank, known.known, known.score) == (0, "train", None)
        scores = [answer.score for answer in answers]
        assert None not in scores
        assert scores == sorted(scores, key=lambda score: -(score or 0))
        assert sorted(answer.stage1_rank for answer in answers) == [1, 2, 3, 4, 5, 6]

    def test_asked_for_more_than_the_list_holds_stage_1_goes_on(self, both: Run) -> None:
        few, many = both.ask("lies in", subject="Town 7", k=6), both.ask("lies in", subject="Town 7", k=30)
        assert many[:7] == few, "the list is no longer than the one that was trained for"
        assert [answer.stage1_rank for answer in many[7:]] == list(range(7, 30))
        assert {answer.score for answer in many[7:]} == {None}

    def test_asked_for_fewer_the_whole_list_is_read(self, both: Run) -> None:
        assert both.ask("lies in", subject="Town 7", k=2) == both.ask("lies in", subject="Town 7", k=6)[:3]

    def test_what_is_known_takes_no_place_of_what_is_new(self, both: Run) -> None:
        answers = both.ask("lies in", object="Country B", k=2)
        assert [answer.rank for answer in answers] == [0, 0, 1, 2], "of three known ones no more than of new ones"

    def test_only_new_ones(self, both: Run) -> None:
        new = both.ask("lies in", object="Country B", k=30, new=True)
        assert {answer.known for answer in new} == {None}
        assert len(new) == 25

    def test_thousands_in_a_frame_get_what_one_at_a_time_gets(self, both: Run) -> None:
        questions = pl.DataFrame(
            {
                "subject": ["Town 7", None, "t3"],
                "relation": ["lies in", "lies in", "road to"],
                "object": [None, "Country B", None],
            }
        )
        answers = both.ask_many(questions, k=8)
        assert answers.columns == ["question", "rank", "stage1_rank", "id", "name", "score", "known"]
        for number, row in enumerate(questions.iter_rows(named=True)):
            ends = {end: row[end] for end in ("subject", "object") if row[end] is not None}
            single = [each for each in both.ask(row["relation"], **ends, k=30) if each.rank][:8]
            mine = answers.filter(pl.col("question") == number)
            assert mine["name"].to_list() == [each.name for each in single]
            assert mine["known"].to_list() == [each.known for each in single]
            assert mine["score"].to_list() == pytest.approx([each.score for each in single], nan_ok=True)

    def test_a_frame_without_a_relation_is_refused(self, both: Run) -> None:
        with pytest.raises(DataError, match=r"need the columns `relation` and `subject` or `object`"):
            both.ask_many(pl.DataFrame({"subject": ["Town 7"]}))
