"""The benchmarks keep up with the package: each can be started, and what they compare with can fail."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.config import RunConfig
from cear.core.context import HERE
from cear.core.errors import MismatchError
from cear.core.files import write_json
from cear.core.types import Candidates, Queries
from cear.data import KnowledgeBase, load
from cear.pipeline import open_run, run
from cear.retrieval import ComplEx, ComplExConfig, RowsEmbeddings, SoftmaxLoss
from cear.retrieval.batches import TrainingQueries

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_says_how_it_is_started(
    path: Path, script: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = script(path.stem)
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    with pytest.raises(SystemExit) as stop:
        module.main(*([["--help"]] if module.main.__code__.co_argcount else []))
    assert stop.value.code == 0
    assert "usage:" in capsys.readouterr().out


class TestKillAndResume:
    def test_its_configuration_has_every_kind_of_step(self, script: Any) -> None:
        config = RunConfig.model_validate(script("kill_and_resume").CONFIG)
        assert config.reranker is not None
        assert config.candidates.extra_retrievers.keys() == {"rules", "texts", "tree"}
        assert config.candidates.crossfit is not None
        assert config.candidates.crossfit.held_out_folds == 2

    def test_a_missing_file_is_a_difference(self, script: Any) -> None:
        differing = script("kill_and_resume").differing
        assert differing({"a": "1", "b": "2"}, {"a": "1"}) == ["b"]
        assert differing({"a": "1"}, {"a": "1", "x.partial": "3"}) == ["x.partial"]
        assert differing({"a": "1"}, {"a": "1"}) == []


def test_what_a_long_line_takes_is_told(script: Any, tmp_path: Path) -> None:
    bounds = script("bounds")
    told = bounds.checked(bounds.long_line(0.004), tmp_path, limit=16 * 2**30)
    assert told["exit_code"] == 0, told["errors"]
    assert told["bytes"] > 2 * bounds.MEGABYTE
    assert told["peak_bytes"] > told["bytes"]


class TestServiceLoad:
    """`benchmarks/service_load.py` and `api_cases.py`: an answer that is another question's is noticed."""

    @staticmethod
    def said(**probabilities: float | None) -> list[dict[str, Any]]:
        return [{"id": id_, "probability": probability} for id_, probability in probabilities.items()]

    def test_the_right_answers_are_those_of_the_question(self, script: Any) -> None:
        question = script("service_load").Question({"relation": "r", "subject": "s"}, ("a", "b"), (0.0, 0.25))
        assert question.is_answered_by(self.said(a=None, b=0.2501))
        assert not question.is_answered_by(self.said(b=0.25, a=None)), "another order"
        assert not question.is_answered_by(self.said(a=None, b=0.5)), "other probabilities"
        assert not question.is_answered_by(self.said(a=None)), "too few"

    def test_a_summary_without_failures_has_none(self, script: Any) -> None:
        read = script("api_cases").read_summary
        assert read("  Tested: 30\n  2734 generated, 2734 passed") == {"operations": 30, "cases": 2734, "failures": 0}
        assert read("  2232 generated, 2 found 2 unique failures")["failures"] == 2


def test_the_fastest_start_counts(script: Any) -> None:
    start_up = script("start_up")
    waited, worked = ([sys.executable, "-c", f"sum(range({n}))"] for n in (1, 20_000_000))
    assert 0 < start_up.cpu_seconds(waited, 2) < start_up.cpu_seconds(worked, 1)


def test_the_plain_loop_scores_as_ours_does(script: Any) -> None:
    answering = script("answering")
    kb = load("demo")
    lists = answering.random_lists(kb, 2, seed=0)
    reranker = answering.SequenceReranker(kb, answering.CONFIG, HERE)
    plain = answering.PlainReader(kb, reranker).loop(lists)
    np.testing.assert_allclose(plain, reranker.rerank(lists), atol=1e-4)


def test_time_now_is_told_as_a_share_of_time_before(script: Any) -> None:
    found = script("redesign").compared({"before": [4.0, 2.0, 9.0], "now": [1.0, 2.0, 3.0]})
    assert found["median"] == {"before": 4.0, "now": 2.0}
    assert found["ratio"] == 0.5


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path], encoder_of: Callable[..., str]
) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    values: dict[str, Any] = {"data": str(write_towns(folder / "towns")), "candidates": {"k": 6}}
    values |= {"stage1": {"rank": 4, "batch": 60, "epochs": 1}}
    both: dict[str, Any] = {"encoder": encoder_of(), "epochs": 1, "max_tokens": 400}
    kinds = {"cear": {"kind": "sequence", "hidden": 8}, "kg_bert": {"kind": "kg_bert", "form_tokens": 4}}
    for name, kind in kinds.items():
        config = RunConfig.model_validate(values | {"reranker": both | kind})
        run(config, folder / name, store=folder / "store")
    return folder


class TestKgBert:
    """The two re-rankers of `benchmarks/kg_bert.py` on the towns."""

    def test_its_record_has_both_systems_and_all_uses(
        self, script: Any, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoder_of: Callable[..., str]
    ) -> None:
        module, out = script("kg_bert"), tmp_path / "record.json"
        few = {"encoder": encoder_of(), "form_tokens": 4, "facts_per_epoch": 20}
        monkeypatch.setattr(module, "RELATIONS", module.RELATIONS.model_copy(update=few))
        uses = ["--judge", "10", "--relations", str(tmp_path / "relations"), "--threads", "1"]
        module.main([str(runs / "cear"), str(runs / "kg_bert"), "--facts", "5", "--out", str(out), *uses])
        record = json.loads(out.read_text())
        assert record["queries"] == 10
        finished = open_run(runs / "kg_bert").evaluate("test", facts=5)
        assert finished.before is not None
        assert record["kg_bert"]["fused"]["both"] == pytest.approx(finished.summary()["both"])
        assert record["stage1"]["both"] == pytest.approx(finished.before.summary()["both"])
        assert record["cear"]["queries_per_second"] > 0
        assert 0 <= record["triple_classification"]["f1"] <= 1
        assert 0 < record["relation_prediction"]["mrr"] <= 1

    def test_runs_over_other_lists_are_refused(self, script: Any, runs: Path) -> None:
        one, other = (open_run(runs / name) for name in ("cear", "kg_bert"))
        candidates = other.config.candidates.model_copy(update={"k": 5})
        changed = replace(other.plan, config=other.config.model_copy(update={"candidates": candidates}))
        refuse = script("kg_bert").refuse_other_lists
        refuse(one, other)
        with pytest.raises(MismatchError, match="read other lists"):
            refuse(one, replace(other, plan=changed))


@pytest.fixture
def racing(script: Any) -> Any:
    """The parts of the race against PyKEEN; `script` makes them importable."""
    del script
    return importlib.import_module("racing")


class TestRaceOfTrainings:
    """`benchmarks/time_to_mrr_vs_pykeen.py`: trials, what is read off two curves, and a race on the towns."""

    @staticmethod
    def curve(racing: Any, *laps: tuple[float, float]) -> Any:
        """A training that has so high an MRR after so many seconds, with two threads at work."""
        return [racing.Lap(i, seconds, 2 * seconds, mrr) for i, (seconds, mrr) in enumerate(laps, start=1)]

    def test_ratios_are_those_of_an_epoch_of_the_target_and_of_equal_mrr(self, script: Any, racing: Any) -> None:
        ours = self.curve(racing, (10, 0.20), (20, 0.30), (40, 0.33))
        theirs = self.curve(racing, (50, 0.25), (100, 0.31), (140, 0.31))
        found = script("time_to_mrr_vs_pykeen").ratios(ours, theirs, target=0.33)
        assert found["times_faster_per_epoch"] == {
            "seconds": 5.0,
            "cpu_seconds": 5.0,
        }  # 10, 10, 20; 50, 50, 40
        assert found["times_faster"] == 140 / 40
        assert found["times_faster_is_a_lower_bound"]
        first, second, third = found["equal_mrr"]
        assert first == {"valid_mrr": 0.25, "ours": 20, "theirs": 50, "times_faster": 2.5}
        assert second == third == {"valid_mrr": 0.31, "ours": 40, "theirs": 100, "times_faster": 2.5}

    def test_a_target_that_we_miss_has_no_ratio(self, script: Any, racing: Any) -> None:
        ours, theirs = self.curve(racing, (10, 0.20)), self.curve(racing, (50, 0.25))
        found = script("time_to_mrr_vs_pykeen").ratios(ours, theirs, target=0.25)
        assert found["times_faster"] is None
        assert found["equal_mrr"] == [{"valid_mrr": 0.25, "ours": None, "theirs": 50, "times_faster": None}]

    def test_a_choice_is_judged_at_one_moment_not_after_as_many_epochs(self, racing: Any) -> None:
        slow, fast = racing.Choice(n3=0.1, batch=10), racing.Choice(n3=0.1, batch=20)
        trials = {slow: self.curve(racing, (10, 0.20), (20, 0.30)), fast: self.curve(racing, (8, 0.1), (16, 0.27))}
        assert racing.best_of(trials) == fast  # after 16 s the slow one has .26

    def test_settings_are_tuned_one_after_the_other_and_nothing_is_tried_twice(self, racing: Any) -> None:
        tried = []

        def run(choice: Any) -> Any:
            tried.append((choice.n3, choice.batch))
            return self.curve(racing, (10, choice.n3 + choice.batch / 1000))

        best, trials = racing.tuned(racing.Choice(0.2, 20), {"n3": [0.1, 0.2, 0.3], "batch": [20, 30, 10]}, run)
        assert tried == [(0.2, 20), (0.1, 20), (0.3, 20), (0.3, 30), (0.3, 10)]
        assert (best.n3, best.batch) == (0.3, 30)
        assert len(trials) == 5

    def test_a_kept_trial_is_not_run_again(self, racing: Any, tmp_path: Path) -> None:
        path, choice, curve = tmp_path / "trials.json", racing.Choice(0.1, 10), self.curve(racing, (10, 0.2))
        racing.Kept(path, {"threads": 1}).trial("ours", choice, lambda _: curve)
        again = racing.Kept(path, {"threads": 1})
        assert again.trial("ours", choice, lambda _: pytest.fail("run again")) == curve
        with pytest.raises(MismatchError, match="trials of another race"):
            racing.Kept(path, {"threads": 2})

    @pytest.mark.filterwarnings("ignore")  # PyKEEN's own
    def test_weighted_by_their_answers_pykeens_loss_is_ours(self, racing: Any) -> None:
        from pykeen.losses import CrossEntropyLoss

        del racing
        kb = load("demo")
        queries = TrainingQueries(kb.known("train"), kb.n_entities, size=50, negatives=None, seed=0)
        batch = next(iter(queries.epoch(0)))
        scores = torch.from_numpy(np.random.default_rng(0).normal(size=(50, kb.n_entities)).astype(np.float32))
        labels = torch.zeros_like(scores)
        labels[batch.cells(scores.device)] = 1
        r, asks_head = batch.queries.relation % kb.n_relations, batch.queries.relation >= kb.n_relations
        weigh = importlib.import_module("racing.with_pykeen").answer_counts(kb)
        weights = weigh(h=batch.queries.entity[:, None], r=(2 * r + asks_head)[:, None], t=None)
        assert weights.max() > 1
        theirs = CrossEntropyLoss().process_lcwa_scores(scores, labels, weights=weights)
        torch.testing.assert_close(theirs, SoftmaxLoss()(scores, batch))

    @pytest.fixture
    def options(self, tmp_path: Path, write_towns: Callable[..., Path]) -> list[str]:
        """A race on the towns."""
        data = write_towns(tmp_path / "towns")
        recipe = "{model: complex, rank: 4, batch: 20, epochs: 3, optimizer: {learning_rate: 0.5}}"
        (tmp_path / "race.yaml").write_text(f"data: {data}\nstage1: {recipe}\n")
        files = {"config": "race.yaml", "trials": "trials.json", "out": "record.json"}
        told = [word for name, file in files.items() for word in (f"--{name}", str(tmp_path / file))]
        return [*told, "--n3", "0.1", "--batches", "10", "--tuning-epochs", "1", "--threads", "1", "--patience", "100"]

    @pytest.mark.filterwarnings("ignore")  # PyKEEN's own
    def test_its_record_has_what_both_sides_chose_from_and_their_curves(
        self, script: Any, options: list[str], tmp_path: Path
    ) -> None:
        script("time_to_mrr_vs_pykeen").main([*options, "--target", "0"])
        record = json.loads((tmp_path / "record.json").read_text())
        tried = {side: [trial["choice"] for trial in record["tuning"][side]["trials"]] for side in ("ours", "pykeen")}
        assert {(choice["n3"], choice["batch"]) for choice in tried["ours"][:2]} == {(0.05, 20), (0.1, 20)}
        assert {choice["facts_count"] for choice in tried["pykeen"]} == {True, False}
        for side in ("ours", "pykeen"):
            assert record[side]["choice"] in tried[side]
            assert [lap["seconds"] for lap in record[side]["curve"]] == [record[side]["seconds_to_target"]]
        assert record["times_faster"] == record["pykeen"]["seconds_to_target"] / record["ours"]["seconds_to_target"]
        assert not (tmp_path / "trials.json").exists()

    @pytest.mark.filterwarnings("ignore")  # PyKEEN's own
    def test_without_time_it_stops_and_writes_nothing(self, script: Any, options: list[str], tmp_path: Path) -> None:
        with pytest.raises(SystemExit) as stop:
            script("time_to_mrr_vs_pykeen").main([*options, "--minutes", "0"])
        assert stop.value.code == 3
        assert not (tmp_path / "record.json").exists()


class CountingScorer:
    """Scores every entity by its number and counts what it is asked."""

    def __init__(self, n_entities: int) -> None:
        self.n_entities, self.asked = n_entities, 0

    def score_all(self, queries: Queries) -> torch.Tensor:
        self.asked += len(queries)
        return torch.arange(self.n_entities, dtype=torch.float32).expand(len(queries), -1)


class TestRaceOfEvaluations:
    """`benchmarks/evaluate_vs_pykeen.py` on the demo and on numbers."""

    def test_a_repeated_query_is_scored_for_each_of_its_facts(self, script: Any) -> None:
        sides, kb = script("evaluate_vs_pykeen").SIDES, load("demo")
        queries = kb.queries("test")
        once, repeated = CountingScorer(kb.n_entities), CountingScorer(kb.n_entities)
        assert sides["ours"](once, kb, 0).mrr == sides["ours_repeated"](repeated, kb, 0).mrr
        assert repeated.asked - once.asked == len(queries) - len(queries.distinct()[0]) > 0

    @pytest.mark.filterwarnings("ignore")  # PyKEEN's own
    @pytest.mark.parametrize("side", ["ours_repeated", "pykeen_evaluator", "pykeen_loop"])
    def test_all_sides_find_the_same(self, script: Any, side: str, towns: KnowledgeBase) -> None:
        sides, scorer = script("evaluate_vs_pykeen").SIDES, ComplExConfig(rank=8).build(towns, HERE)
        assert sides[side](scorer, towns, 4).mrr == pytest.approx(sides["ours"](scorer, towns, 4).mrr)

    def test_the_ratio_is_told_in_its_parts(self, script: Any) -> None:
        seconds = {"ours": (3.0, 1.0), "ours_repeated": (5.0, 1.0), "pykeen_evaluator": (40.0, None)}
        seconds |= {"pykeen_loop": (30.0, 20.0)}
        measured = {
            side: {"seconds": both[0], "index_seconds": both[1], "peak_bytes": 6} for side, both in seconds.items()
        }
        found = script("evaluate_vs_pykeen").ratios(measured)
        assert found["fastest_of_pykeen"] == "pykeen_loop"
        assert found["times_faster"] == 10.0
        assert found["of_which"] == {"distinct_queries_once": 5 / 3, "all_else": 6.0}
        assert found["times_faster_than_loop_without_index"] == 5.0

    def test_sides_that_find_other_ranks_are_refused(self, script: Any) -> None:
        refuse = script("evaluate_vs_pykeen").refuse_other_ranks
        refuse({"ours": {"mrr": 0.31}, "pykeen_loop": {"mrr": 0.31 + 1e-7}})
        with pytest.raises(MismatchError, match="do not evaluate the same"):
            refuse({"ours": {"mrr": 0.31}, "pykeen_loop": {"mrr": 0.30}})

    @pytest.mark.filterwarnings("ignore")  # PyKEEN's own
    def test_its_record_has_all_sides(self, script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        module, out = script("evaluate_vs_pykeen"), tmp_path / "record.json"
        monkeypatch.setattr(module, "measure_apart", lambda options, _: module.measure_here(options))  # no processes
        few = ["--queries", "40", "--trial-queries", "20", "--repeats", "1", "--rank", "4", "--threads", "1"]
        module.main(["--data", "demo", "--batches", "8", "--out", str(out), *few])
        record = json.loads(out.read_text())
        assert record["queries"] == 40
        assert record["times_faster"] == min(record["times_faster_than_each"].values())
        assert [trial["batch"] for trial in record["batch_trials"]["pykeen_loop"]] == [8]


class TestPartitionedSearch:
    def test_lists_that_differ_in_a_bit_are_not_equal(self, script: Any) -> None:
        equal = script("partitioned_search").equal
        lists = Candidates(np.array([[3, 1]]), np.array([[0.5, 0.25]], np.float32))
        nearly = np.nextafter(lists.scores, np.float32(1))
        assert equal(lists, replace(lists))
        assert not equal(lists, replace(lists, scores=nearly))
        assert not equal(lists, replace(lists, entities=lists.entities[:, ::-1]))

    def test_the_peak_of_a_process_is_known(self, script: Any) -> None:
        assert script("partitioned_search").peak_of(os.getpid()) > 2**20


def test_stage_2_is_timed_in_both_precisions(script: Any, tmp_path: Path) -> None:
    benchmark = script("stage2_precision")
    benchmark.main(["--lists", "4", "--repeats", "1", "--out", str(tmp_path / "record.json")])
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["study"]["tokens_of_a_list"] < record["paper"]["tokens_of_a_list"]
    for each in (record[name][what] for name in ("study", "paper") for what in ("learning", "reading")):
        assert each["times_faster"] == pytest.approx(each["fp32"] / each["bf16"])


def test_a_run_gains_nothing_over_itself(script: Any, tmp_path: Path, write_towns: Callable[..., Path]) -> None:
    values = {"data": str(write_towns(tmp_path / "towns")), "stage1": {"rank": 8, "batch": 60, "epochs": 1}}
    made = run(RunConfig.model_validate(values), tmp_path / "run")
    found = script("fit_vs_own").compared(made, made)
    assert found.keys() == {"valid", "test"}
    assert found["test"]["mrr"]["difference"] == 0
    assert found["test"]["queries"] == 24
    assert all(first == second for first, second in found["test"]["inverse"].values())


class TestApproximateSearch:
    def test_recall_is_the_share_of_the_exact_lists_that_is_found(self, script: Any) -> None:
        exact = Candidates(np.array([[3, 1], [2, 0]]), np.zeros((2, 2), np.float32))
        recall = script("approximate_search").recall
        assert recall(exact, np.array([[1, 3], [0, 2]])) == 1.0
        assert recall(exact, np.array([[1, 7], [-1, -1]])) == 0.25

    def test_copies_stand_behind_the_trained_vectors_and_near_them(self, script: Any) -> None:
        scorer = ComplEx(RowsEmbeddings(10, 2, scale=1.0), 64).requires_grad_(False)
        more = script("approximate_search").grown(scorer, 25, 0.1)
        rows, vectors = scorer.entity_vectors(), more.entity_vectors()
        assert torch.equal(vectors[:10], rows)
        moved = (vectors[10:20] - rows).norm(dim=1) / rows.norm(dim=1)
        assert torch.allclose(moved, torch.tensor(0.1), rtol=0.3)
        asked = Queries(np.arange(10), np.arange(10) % 4)
        assert torch.equal(more.query_vectors(asked), scorer.query_vectors(asked))


class TestOlpbenchWhole:
    def test_its_configuration_is_one_at_every_size(self, script: Any, tmp_path: Path) -> None:
        config_of = script("olpbench_whole").config_of
        small, full = (RunConfig.model_validate(config_of(tmp_path, scale, 1)) for scale in (0.001, 1.0))
        assert small.stage1 == full.stage1
        assert (full.candidates.k, full.candidates.queries) == (50, 1_000_000)
        assert full.calibration is not None
        assert full.calibration.questions == 20_000
        assert small.candidates.queries == 2000

    def test_the_memory_of_a_process_is_known_and_that_of_one_that_is_gone_is_none(self, script: Any) -> None:
        memory_of = script("olpbench_whole").memory_of
        assert memory_of(os.getpid()) > 2**24
        assert memory_of(2**22 + 1) == 0

    def test_steps_are_told_in_the_order_in_which_they_were_made(self, script: Any, tmp_path: Path) -> None:
        for name, date in (("late", "2026-02"), ("early", "2026-01")):
            report = {"name": name, "kind": "k", "date": date, "seconds": 1.0, "peak_bytes": 5}
            write_json(tmp_path / "k" / name / "step.json", report)
        steps = script("olpbench_whole").steps_of(tmp_path)
        assert [each["name"] for each in steps] == ["early", "late"]
        assert script("olpbench_whole").summary(steps, {})["seconds_of_all_steps"] == 2.0
