"""A run from a folder of facts to answers, and what happens when its folder or its data is another's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.config import RunConfig, load_config
from cear.core.errors import CearError, ConfigError, DataError, MismatchError, UnknownName
from cear.core.files import file_digest
from cear.core.seals import read_sealed, write_sealed
from cear.core.types import SPLITS, Queries
from cear.pipeline import Run, open_run, run

SMALL: dict[str, Any] = {"rank": 8, "batch": 20, "epochs": 8, "validate_every": 4}


def config_of(data: Path, **stage1: Any) -> RunConfig:
    return RunConfig.model_validate({"data": str(data), "seed": 1, "stage1": SMALL | stage1})


def weights(done: Run) -> Path:
    """The best weights of Stage 1."""
    return done.plan.store.get(done.plan.stage1["stage1"]) / "best.safetensors"


@pytest.fixture(scope="module")
def towns_folder(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> Path:
    return write_towns(tmp_path_factory.mktemp("data") / "towns")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, towns_folder: Path) -> Run:
    return run(config_of(towns_folder), tmp_path_factory.mktemp("runs") / "towns")


class TestRun:
    def test_it_leaves_a_folder_that_opens_to_the_same_run(self, finished: Run) -> None:
        again = open_run(finished.folder)
        assert again.config == finished.config == load_config(finished.folder / "config.yaml")
        assert again.training == finished.training
        assert again.kb.digest == finished.kb.digest
        for name, value in finished.scorer.state_dict().items():
            assert torch.equal(again.scorer.state_dict()[name], value)
        assert again.evaluate("test").summary() == finished.evaluate("test").summary()

    def test_the_scorer_is_the_best_one_on_validation(self, finished: Run) -> None:
        assert finished.evaluate("valid").summary()["both"]["mrr"] == finished.training.best
        assert finished.training.best == max(entry["valid"] for entry in finished.training.history)

    def test_it_learned(self, finished: Run) -> None:
        assert finished.evaluate("train").summary()["both"]["mrr"] > 0.8
        assert len(finished.training.history) == 2

    def test_run_again_it_trains_nothing_and_ends_the_same(self, finished: Run) -> None:
        before = weights(finished).stat().st_mtime_ns
        again = run(finished.config, finished.folder)
        assert again.training == finished.training
        assert weights(again).stat().st_mtime_ns == before
        assert all(report.reused for report in again.steps())

    def test_the_same_configuration_elsewhere_gives_the_same_weights(self, finished: Run, tmp_path: Path) -> None:
        again = run(finished.config, tmp_path / "again")
        assert not any(report.reused for report in again.steps()), "facts of your own are kept in the run"
        assert weights(finished).read_bytes() == weights(again).read_bytes()

    def test_another_seed_gives_others(self, finished: Run, tmp_path: Path) -> None:
        other = run(finished.config.model_copy(update={"seed": 2}), tmp_path / "other")
        mine, its = (each.scorer.state_dict()["entity.weight"] for each in (finished, other))
        assert not torch.equal(mine, its)

    def test_without_valid_facts_it_says_so_before_training(
        self, write_towns: Callable[..., Path], tmp_path: Path
    ) -> None:
        data = write_towns(tmp_path / "data", valid=[])
        (data / "valid.txt").unlink()
        with pytest.raises(DataError, match="no valid facts, and they choose the model"):
            run(config_of(data), tmp_path / "run")
        assert not (tmp_path / "run").exists()

    def test_without_test_facts_it_trains_all_the_same(self, write_towns: Callable[..., Path], tmp_path: Path) -> None:
        data = write_towns(tmp_path / "data", test=[])
        (data / "test.txt").unlink()
        done = run(config_of(data, epochs=1), tmp_path / "run")
        assert len(done.evaluate("valid").queries) == 26
        with pytest.raises(DataError, match="no test facts"):
            done.evaluate("test")


class TestEvaluate:
    def test_every_query_of_the_split_has_a_rank(self, finished: Run) -> None:
        for split in SPLITS:
            evaluation = finished.evaluate(split)
            assert len(evaluation.ranks) == 2 * len(finished.kb.facts(split))

    def test_the_tie_rule_is_passed_on(self, finished: Run) -> None:
        assert finished.evaluate("test", ties="pessimistic").ties == "pessimistic"

    def test_the_record_holds_the_figures_and_where_they_come_from(self, finished: Run) -> None:
        evaluation = finished.evaluate("test")
        record = finished.record(evaluation).as_json()
        assert record["stage1"] == evaluation.summary()
        assert record["details"]["rank"] == 8
        assert record["details"]["epochs"] == 8
        assert record["details"]["valid_mrr"] == finished.training.best
        assert record["provenance"]["digest"] == finished.kb.digest
        assert record["provenance"]["config"]["stage1"]["rank"] == 8
        steps = record["provenance"]["steps"]
        assert [step["name"] for step in steps] == ["stage1", "evaluation on test"]
        assert record["provenance"]["seconds"] == sum(step["seconds"] for step in steps) > 0
        json.dumps(record, allow_nan=False)


class TestAsk:
    def test_what_train_says_comes_first_as_known_and_then_the_others_by_score(self, finished: Run) -> None:
        answers = finished.ask("lies in", subject="Town 7", k=30)
        kb = finished.kb
        query = np.flatnonzero(kb.entities.table["name"] == "Town 7"), np.array([kb.relations.find("lies in")])
        scores = finished.scorer.score_all(Queries(*query))[0]
        order = [
            entity for entity in scores.argsort(descending=True).tolist() if kb.entities.name(entity) != "Country C"
        ]
        assert [answer.rank for answer in answers] == [0, *range(1, 30)]
        assert [answer.name for answer in answers] == ["Country C", *(kb.entities.name(entity) for entity in order)]
        assert (answers[0].known, answers[0].score) == ("train", None)
        assert answers[1].score == pytest.approx(scores[order[0]].item())
        assert [answer.stage1_rank for answer in answers[1:]] == list(range(1, 30))

    def test_for_subjects(self, finished: Run) -> None:
        kb = finished.kb
        place, country = kb.relations.find("lies in"), kb.entities.find("Country C")
        told = {kb.entities.id(s) for s, r, o in kb.facts("train").tolist() if (r, o) == (place, country)}
        answers = finished.ask("lies in", object="Country C", k=30)
        assert {answer.id for answer in answers if answer.rank == 0} == told
        assert len(told) >= 2

    def test_an_answer_says_which_split_knows_it(self, finished: Run) -> None:
        # Town 0 in Country A is fact 0, held out for valid; Town 3 in Country D is fact 3, held out for test.
        known = {
            town: {a.name: a.known for a in finished.ask("lies in", subject=f"Town {town}", k=30)} for town in (0, 1, 3)
        }
        assert known[0]["Country A"] == "valid"
        assert known[1]["Country B"] == "train"
        assert known[3]["Country D"] == "test"
        assert known[1]["Country C"] is None
        assert sum(split is not None for split in known[1].values()) == 1

    def test_new_leaves_out_all_that_is_known_and_nobody_else(self, finished: Run) -> None:
        everything = finished.ask("lies in", object="Country B", k=30)
        new = finished.ask("lies in", object="Country B", k=30, new=True)
        assert [answer.name for answer in new] == [answer.name for answer in everything if answer.known is None]
        assert len(new) == 30 - 5
        assert [answer.rank for answer in new] == list(range(1, 26))

    def test_ids_work_like_names_and_letter_case_does_not_matter(self, finished: Run) -> None:
        assert finished.ask("lies_in", subject="t7") == finished.ask("LIES in", subject="town 7")

    def test_no_more_answers_than_entities(self, finished: Run) -> None:
        assert len(finished.ask("lies in", subject="Town 7", k=1000)) == 30

    @pytest.mark.parametrize("ends", [{}, {"subject": "Town 7", "object": "Country A"}])
    def test_one_end_is_given_not_none_and_not_both(self, finished: Run, ends: dict[str, str]) -> None:
        with pytest.raises(CearError, match="Ask for one end"):
            finished.ask("lies in", **ends, k=3, new=False)

    @pytest.mark.parametrize(
        ("relation", "subject", "message"),
        [
            ("lies im", "Town 7", r"No relation is called 'lies im'\. Did you mean 'lies in'"),
            ("lies in", "Tonw 17", r"No entity is called 'Tonw 17'\. Did you mean .*'Town 17'"),
        ],
    )
    def test_a_typo_gets_suggestions(self, finished: Run, relation: str, subject: str, message: str) -> None:
        with pytest.raises(UnknownName, match=message):
            finished.ask(relation, subject=subject)


class TestOthersFolders:
    @pytest.fixture
    def copy(self, finished: Run, tmp_path: Path) -> Path:
        return Path(shutil.copytree(finished.folder, tmp_path / "copy"))

    def test_of_another_configuration_it_is_refused_with_what_differs(self, copy: Path, towns_folder: Path) -> None:
        with pytest.raises(MismatchError) as caught:
            run(config_of(towns_folder, rank=9), copy)
        message = str(caught.value)
        assert "made with another configuration" in message
        assert "there: {'stage1.rank': 8}" in message
        assert "here:  {'stage1.rank': 9}" in message
        assert "Use another --out folder" in message

    def test_of_another_knowledge_base_it_is_refused(
        self, copy: Path, write_towns: Callable[..., Path], tmp_path: Path
    ) -> None:
        other = write_towns(tmp_path / "towns", test=[(0, 2, 3)])
        with pytest.raises(MismatchError, match="made with another digest"):
            run(config_of(other), copy)
        with pytest.raises(MismatchError, match="made with another digest"):
            open_run(copy, source=str(other))

    def test_how_often_to_save_is_no_difference(self, finished: Run, copy: Path, towns_folder: Path) -> None:
        assert run(config_of(towns_folder, checkpoint_seconds=5), copy).training == finished.training

    def test_data_that_moved_is_found_by_its_new_place(self, finished: Run, copy: Path, tmp_path: Path) -> None:
        config = (copy / "config.yaml").read_text()
        (copy / "config.yaml").write_text(config.replace(str(finished.config.data), str(tmp_path / "gone")))
        sealed = read_sealed(copy / "run.json") | {"config": file_digest(copy / "config.yaml")}
        write_sealed(copy / "run.json", sealed)
        with pytest.raises(DataError, match=r"is no longer at .*gone.*--data PATH"):
            open_run(copy)
        moved = shutil.copytree(finished.config.data, tmp_path / "moved")
        opened = open_run(copy, source=str(moved))
        assert opened.evaluate("test").summary() == finished.evaluate("test").summary()

    def test_one_that_is_not_finished_says_how_to_finish_it(self, copy: Path) -> None:
        shutil.rmtree(copy / "steps")
        write_sealed(copy / "run.json", read_sealed(copy / "run.json") | {"steps": {}})
        with pytest.raises(MismatchError, match=r"no finished run.*the same `cear run` continues it"):
            open_run(copy)

    def test_one_whose_steps_are_gone_says_which_and_where(self, copy: Path) -> None:
        shutil.rmtree(copy / "steps")
        with pytest.raises(MismatchError, match=r"its stage1 is no longer in .*--store"):
            open_run(copy)

    def test_one_of_other_code_says_so(self, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from cear.retrieval import ComplExConfig

        monkeypatch.setattr(ComplExConfig, "version", 99)
        with pytest.raises(MismatchError, match=r"another version of cear, whose stage1 .*Run its command again"):
            open_run(copy)

    def test_one_of_an_older_layout_is_refused_with_a_sentence(self, copy: Path) -> None:
        about = json.loads((copy / "run.json").read_text())
        (copy / "run.json").write_text(json.dumps({key: about[key] for key in ("data", "digest", "version")}))
        with pytest.raises(MismatchError, match=r"another version of cear \(schema 1, this one reads 2\)"):
            open_run(copy)

    def test_one_that_is_no_run_says_how_to_make_one(self, tmp_path: Path) -> None:
        with pytest.raises(MismatchError, match=r"no finished run.*Make one with `cear run"):
            open_run(tmp_path)

    def test_damaged_weights_are_named(self, copy: Path) -> None:
        weights(open_run(copy)).write_bytes(b"")
        with pytest.raises(DataError, match=r"of its stage1, best\.safetensors is not what was written"):
            open_run(copy)


def test_an_interrupted_run_continues_to_the_same_weights(
    finished: Run, tmp_path: Path, stopping: Callable[[int], Any]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(finished.config, tmp_path, progress=stopping(13))
    with pytest.raises(MismatchError, match="interrupted"):
        open_run(tmp_path)
    again = run(finished.config, tmp_path)
    assert again.training.history == finished.training.history
    assert weights(finished).read_bytes() == weights(again).read_bytes()


class TestAStoreThatRunsShare:
    def test_a_second_run_trains_nothing_again(self, finished: Run, tmp_path: Path) -> None:
        shared = tmp_path / "store"
        first = run(finished.config, tmp_path / "first", store=shared)
        second = run(finished.config, tmp_path / "second", store=shared)
        assert [report.reused for report in first.steps()] == [False]
        assert [report.reused for report in second.steps()] == [True]
        assert second.steps()[0].spent == first.steps()[0].spent, "its cost is what it cost"
        assert not (tmp_path / "second" / "steps").exists()
        assert open_run(tmp_path / "second").evaluate("test").summary() == finished.evaluate("test").summary()

    def test_other_settings_other_data_and_other_seeds_are_made(
        self, finished: Run, towns_folder: Path, write_towns: Callable[..., Path], tmp_path: Path
    ) -> None:
        shared, data = tmp_path / "store", write_towns(tmp_path / "other", test=[(0, 0, 25)])
        run(finished.config, tmp_path / "first", store=shared)
        others = [
            config_of(towns_folder, rank=9),
            config_of(data),
            finished.config.model_copy(update={"seed": 2}),
        ]
        for number, config in enumerate(others):
            done = run(config, tmp_path / str(number), store=shared)
            assert [report.reused for report in done.steps()] == [False]

    def test_a_default_that_changed_is_another_step(self, finished: Run) -> None:
        """Keys hold settings with their defaults, so that an old result is never taken for a new one."""
        step = finished.plan.stage1["stage1"]
        assert step.settings["settings"]["patience"] == 5, "a default that the configuration does not name"
        other = replace(step, settings={**step.settings, "settings": {**step.settings["settings"], "patience": 6}})
        assert other.key != step.key

    def test_threads_device_and_checkpoints_are_no_part_of_a_key(self, finished: Run, towns_folder: Path) -> None:
        changed = RunConfig.model_validate(
            {"data": str(towns_folder), "seed": 1, "threads": 1, "device": "cpu", "accumulate": 2}
            | {"stage1": SMALL | {"checkpoint_seconds": 7}}
        )
        assert run(changed, finished.folder).steps()[0].reused


def test_several_seeds_are_several_runs(finished: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"seed: \[0, 1\] are several runs"):
        run(finished.config.model_copy(update={"seed": [0, 1]}), tmp_path)
