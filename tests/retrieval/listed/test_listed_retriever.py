"""Lists as Stage 1: listed entities have their scores, the others tie behind them; keys are by content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from cear.candidates import bring_lists
from cear.config import RunConfig
from cear.core.context import HERE
from cear.core.errors import ConfigError, DataError
from cear.core.types import NO_ENTITY, Queries
from cear.data import KnowledgeBase
from cear.evaluation import evaluate
from cear.pipeline import open_run, run
from cear.retrieval import ListedRetriever, ListsConfig, read_rankings

LINE = '{"subject": "t1", "relation": "lies_in", "candidates": ["c0", "t3", "c1"], "scores": [2, 2, 0.5]}'
ASKED = Queries(np.array([1]), np.array([0]))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text(LINE)
    return path


def every_query(kb: KnowledgeBase, split: str, *, first: int = 0) -> str:
    """A list of two for each distinct query of a split: the entity `first`, and one that differs by query."""
    asked, _ = kb.queries(split).distinct()  # type: ignore[arg-type]
    lines = []
    for entity, relation in zip(asked.entity.tolist(), asked.relation.tolist(), strict=True):
        side, r = ("tail", relation) if relation < kb.n_relations else ("head", relation - kb.n_relations)
        qid = f"{side}:{kb.entities.id(entity)}:{kb.relations.id(r)}"
        best = [first, first + 1 + entity % 7]
        lines += [f"{qid} Q0 {kb.entities.id(e)} {place} {5 - place} x" for place, e in enumerate(best, start=1)]
    return "\n".join(lines)


class TestScores:
    def test_the_listed_have_theirs_and_all_others_one_below_the_least(self, towns: KnowledgeBase, file: Path) -> None:
        scores = ListedRetriever(towns, read_rankings([file], towns)).score_all(ASKED)[0]
        assert scores[[25, 3, 26]].tolist() == [2.0, 2.0, 0.5]
        others = np.setdiff1d(np.arange(30), [25, 3, 26])
        assert scores[others].tolist() == [-0.5] * 27

    def test_a_gold_that_is_not_listed_ties_with_all_who_are_not(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        path = tmp_path / "all.run"
        path.write_text(every_query(towns, "test", first=20))
        made = evaluate(ListedRetriever(towns, read_rankings([path], towns)), towns, "test")
        ranks, gold = made.ranks, made.gold
        away = np.flatnonzero((gold < 20) | (gold > 27))
        known = towns.known("train", "valid", "test").of_queries(made.queries).counts
        assert len(away)
        assert (ranks.above[away] <= 2).all()
        assert (ranks.above + ranks.tied == 30 - known)[away].all()

    def test_a_list_of_nobody_is_one_tie(self, towns: KnowledgeBase, file: Path) -> None:
        file.write_text('{"subject": "t1", "relation": "lies_in", "candidates": []}')
        scores = ListedRetriever(towns, read_rankings([file], towns)).score_all(ASKED)
        assert scores.unique().numel() == 1

    @pytest.mark.parametrize("score", [1e20, -1e20, 1e-300])
    def test_the_others_are_below_whatever_the_scale(self, towns: KnowledgeBase, file: Path, score: float) -> None:
        file.write_text(LINE.replace("[2, 2, 0.5]", f"[{score}, {score}, {score}]"))
        scores = ListedRetriever(towns, read_rankings([file], towns)).score_all(ASKED)[0]
        assert scores[0] < scores[25]

    def test_scores_that_differ_in_the_tenth_digit_differ(self, towns: KnowledgeBase, file: Path) -> None:
        file.write_text(LINE.replace("[2, 2, 0.5]", "[2.0000000001, 2, 0.5]"))
        scores = ListedRetriever(towns, read_rankings([file], towns)).score_all(ASKED)[0]
        assert scores[25] > scores[3]

    def test_a_query_without_a_list_is_refused(self, towns: KnowledgeBase, file: Path) -> None:
        retriever = ListedRetriever(towns, read_rankings([file], towns))
        asked = Queries(np.array([1, 26]), np.array([0, 3]))
        with pytest.raises(DataError, match=r"no list for ⟨\?, lies_in, c1⟩.* 1 of \d+ train queries, 0 of \d+ valid"):
            retriever.score_all(asked)


class TestARun:
    def config(self, data: Path, path: Path, **other: object) -> RunConfig:
        stage1 = {"model": "lists", "path": str(path)}
        return RunConfig.model_validate({"data": str(data), "stage1": stage1, **other})

    @pytest.fixture
    def data(self, write_towns, tmp_path: Path) -> Path:  # type: ignore[no-untyped-def]
        return write_towns(tmp_path / "towns")  # type: ignore[no-any-return]

    @pytest.fixture
    def lists(self, towns: KnowledgeBase, tmp_path: Path) -> Path:
        path = tmp_path / "mine.run"
        path.write_text(f"{every_query(towns, 'test')}\n")
        return path

    def test_a_finished_run_does_not_need_the_file(self, data: Path, lists: Path, tmp_path: Path) -> None:
        done = run(self.config(data, lists), tmp_path / "out")
        before = done.evaluate("test").summary()
        lists.unlink()
        assert open_run(tmp_path / "out").evaluate("test").summary() == before

    def test_without_lists_for_valid_nothing_is_said_about_it(self, data: Path, lists: Path, tmp_path: Path) -> None:
        done = run(self.config(data, lists), tmp_path / "out")
        record = done.record(done.evaluate("test"))
        assert record.details["valid_mrr"] is None

    def test_the_step_is_found_by_content_wherever_the_file_is(self, data: Path, lists: Path, tmp_path: Path) -> None:
        store = tmp_path / "store"
        run(self.config(data, lists), tmp_path / "one", store=store)
        moved = lists.rename(tmp_path / "moved.run")
        assert run(self.config(data, moved), tmp_path / "two", store=store).steps()[0].reused
        moved.write_text(moved.read_text().replace(" 4 x", " 4.5 x"))
        assert not run(self.config(data, moved), tmp_path / "three", store=store).steps()[0].reused

    def test_nothing_of_a_file_that_is_refused_stays(self, data: Path, lists: Path, tmp_path: Path) -> None:
        lists.write_text(lists.read_text() + "tail:t1:lies_in Q0 c99 1 1.0 x")
        with pytest.raises(Exception, match="c99"):
            run(self.config(data, lists), tmp_path / "out")
        assert not [*(tmp_path / "out").rglob("*.safetensors")]
        lists.write_text("".join(lists.read_text().rpartition("tail:t1:lies_in Q0 c99")[:1]))
        assert run(self.config(data, lists), tmp_path / "out").evaluate("test").facts

    def test_a_file_that_is_missing_is_told_before_anything_is_made(self, data: Path, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"no file .*nowhere.run"):
            run(self.config(data, tmp_path / "nowhere.run"), tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_a_reranker_has_no_folds_to_learn_from(self, data: Path, lists: Path, tmp_path: Path) -> None:
        reranker = {"kind": "wide", "text": False}
        with pytest.raises(ConfigError, match=r"learn_from: valid.*lists: FILE.*leave the re-ranker out"):
            run(self.config(data, lists, reranker=reranker), tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_as_an_extra_retriever_it_joins_the_lists(self, data: Path, towns: KnowledgeBase, tmp_path: Path) -> None:
        path = tmp_path / "mine.run"
        path.write_text(every_query(towns, "test", first=20))
        values = {"data": str(data), "stage1": {"model": "rules", "min_support": 1}}
        extra = {"k": 4, "extra_retrievers": {"mine": {"model": "lists", "path": str(path)}}}
        done = run(RunConfig.model_validate(values | {"candidates": extra}), tmp_path / "out")
        found = done.plan.retrievers.search(done.kb.queries("test"), 4)
        assert (found.candidates.entities == done.kb.entities.find("t20")).any(axis=1).all()


class TestListsToLearnFrom:
    def test_a_foreign_file_becomes_lists_with_a_manifest(self, towns: KnowledgeBase, file: Path) -> None:
        file.write_text(f'{LINE}\n{{"relation": "lies_in", "object": "c1", "candidates": ["t6"], "scores": [1]}}')
        lists = bring_lists(file, towns, k=2)
        assert lists.candidates.entities.tolist() == [[25, 3], [6, NO_ENTITY]]
        assert lists.candidates.scores.tolist() == [[2.0, 2.0], [1.0, -np.inf]]
        assert (lists.manifest.digest, lists.manifest.k, lists.manifest.split) == (towns.digest, 2, "train")

    def test_no_list_is_longer_than_the_longest_of_the_file(self, towns: KnowledgeBase, file: Path) -> None:
        assert bring_lists(file, towns, k=40).candidates.k == 3


def test_where_the_files_are_is_not_in_the_key(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(file.read_bytes())
    one, other = ListsConfig(path=str(file)), ListsConfig(path=[str(copy)])
    assert one.settings_key() == other.settings_key()
    assert one.brought() == other.brought() != ListsConfig(path=[str(file), str(copy)]).brought()


def test_the_scores_are_those_of_the_file_whoever_asks(towns: KnowledgeBase, file: Path, tmp_path: Path) -> None:
    fitted = ListsConfig(path=str(file)).fit(towns, tmp_path / "kept", HERE)
    assert fitted.training.done
    assert torch.equal(
        fitted.retriever.score_candidates(ASKED, np.array([[26, 0]])), torch.tensor([[0.5, -0.5]], dtype=torch.float64)
    )
