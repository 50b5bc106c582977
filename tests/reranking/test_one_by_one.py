"""Re-rankers that read candidates one by one: KG-BERT and a published cross-encoder, alone and in a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cear.candidates import Lists, Manifest, labels, read_lists
from cear.config import RunConfig
from cear.core.context import HERE, Context
from cear.core.errors import ConfigError
from cear.core.types import NO_ENTITY, Candidates, Queries
from cear.data import KnowledgeBase, Vocabulary
from cear.pipeline import Run, open_run, run
from cear.reranking import (
    CrossEncoderConfig,
    CrossEncoderReranker,
    KgBertReranker,
    KgBertRerankerConfig,
    RerankerConfig,
    Upstream,
)
from cear.reranking.cross_encoder.reranker import question


@pytest.fixture
def kg_bert(encoder_of: Callable[..., str]) -> KgBertRerankerConfig:
    return KgBertRerankerConfig(encoder=encoder_of(), form_tokens=4, negatives=3)


def expected_steps(done: Run) -> set[str]:
    return {report.name for report in done.steps()}


def run_of(data: Path, reranker: RerankerConfig, out: Path) -> Run:
    """A run with this second stage over lists of six."""
    values: dict[str, Any] = {
        "data": str(data),
        "stage1": {"rank": 8, "batch": 60, "epochs": 2},
        "candidates": {"k": 6},
    }
    config = RunConfig.model_validate(values)
    return run(config.model_copy(update={"reranker": reranker}), out)


class TestKgBert:
    def test_both_questions_of_a_fact_get_one_score(self, kg_bert: KgBertRerankerConfig, towns: KnowledgeBase) -> None:
        reranker = kg_bert.build(Upstream(towns), HERE)
        queries, gold = towns.queries("test"), towns.gold("test")
        tails, heads = np.split(reranker.rerank(as_lists(towns, queries, gold[:, None])), 2)
        np.testing.assert_allclose(tails, heads, atol=1e-5)

    def test_what_it_draws_holds_each_training_fact_once(
        self, kg_bert: KgBertRerankerConfig, towns: KnowledgeBase
    ) -> None:
        lists = kg_bert.draw_lists(towns, Context(seed=3))
        assert len(lists) == len(towns.facts("train"))
        assert lists.candidates.k == 4
        assert (labels(lists, towns.known("train")).sum(axis=1) == 1).all()
        other = kg_bert.draw_lists(towns, Context(seed=4))
        assert not np.array_equal(lists.candidates.entities, other.candidates.entities)

    def test_what_it_draws_knows_nothing_of_facts_to_come(
        self, kg_bert: KgBertRerankerConfig, towns: KnowledgeBase
    ) -> None:
        alone = KnowledgeBase(towns.name, towns.entities, towns.relations, {"train": towns.facts("train")})
        one, other = (kg_bert.draw_lists(kb, HERE).candidates.entities for kb in (towns, alone))
        assert np.array_equal(one, other)

    def test_a_run_draws_its_lists_and_trains_no_fold(
        self, kg_bert: KgBertRerankerConfig, write_towns: Callable[..., Path], tmp_path: Path
    ) -> None:
        settings = kg_bert.model_copy(update={"epochs": 2, "max_tokens": 400, "lists_per_epoch": 30})
        done = run_of(write_towns(tmp_path / "towns"), settings, tmp_path / "run")
        steps = {"stage1", "drawn lists", "drawn lists: features", "validation lists", "re-ranker", "fusion"}
        assert expected_steps(done) == steps
        ((_, step),) = done.plan.training_lists
        kept = read_lists(done.plan.store.get(step) / "lists.parquet", done.kb)
        drawn = settings.draw_lists(done.kb, HERE)
        assert np.array_equal(kept.candidates.entities, drawn.candidates.entities)
        again = open_run(tmp_path / "run")
        assert isinstance(again.ranker.reranker, KgBertReranker)
        assert again.evaluate("test").summary() == done.evaluate("test").summary()
        assert done.record(done.evaluate("test")).details["reranker"]["kind"] == "kg_bert"

    def test_more_negatives_or_another_seed_of_stage_2_draw_other_lists(
        self, kg_bert: KgBertRerankerConfig, write_towns: Callable[..., Path], tmp_path: Path
    ) -> None:
        data = write_towns(tmp_path / "towns")
        small = kg_bert.model_copy(update={"epochs": 1, "max_tokens": 400, "lists_per_epoch": 5})
        changes: list[dict[str, Any]] = [{}, {"learning_rate": 1e-3}, {"negatives": 2}, {"seed": 9}]
        made = [run_of(data, small.model_copy(update=change), tmp_path / f"{i}") for i, change in enumerate(changes)]
        keys = [done.plan.training_lists[0][1].key for done in made]
        assert keys[0] == keys[1]
        assert len(set(keys)) == 3


def as_lists(kb: KnowledgeBase, queries: Queries, entities: Any) -> Lists:
    """Lists of these candidates."""
    manifest = Manifest(kb.name, kb.digest, "test", entities.shape[1], "keep", "by hand")
    return Lists(queries, Candidates(entities, np.zeros(entities.shape)), manifest)


class TestQuestions:
    def test_the_side_that_is_asked_for_has_a_mark(self, towns: KnowledgeBase) -> None:
        assert question(towns, 3, 0, "name") == "Town 3 | lies in | ?"
        assert question(towns, 25, 3 + 0, "name") == "? | lies in | Country A"

    def test_a_description_stands_last(self) -> None:
        entities = Vocabulary.from_ids("entity", ["a"], names=["dog"], descriptions=["an animal"])
        kb = KnowledgeBase("one", entities, Vocabulary.from_ids("relation", ["hypernym"]), {})
        assert question(kb, 0, 0, "description") == "dog | hypernym | ? (an animal)"
        assert question(kb, 0, 0, "name") == "dog | hypernym | ?"


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
@pytest.mark.filterwarnings("ignore")  # of a package that is none of ours
def test_scores_are_those_of_sentence_transformers(
    family: str, cross_encoder_of: Callable[..., str], towns: KnowledgeBase, lists: Lists
) -> None:
    from sentence_transformers import CrossEncoder

    folder, some = cross_encoder_of(family), lists[::7]
    config = CrossEncoderConfig(encoder=folder, form_tokens=16)
    scores = config.build(Upstream(towns), HERE).rerank(some)
    rows = zip(some.queries.entity, some.queries.relation, some.candidates.entities, strict=True)
    pairs = [(question(towns, int(e), int(r), "name"), towns.entities.name(c)) for e, r, row in rows for c in row]
    theirs = CrossEncoder(folder, device="cpu").predict(pairs, show_progress_bar=False)
    np.testing.assert_allclose(1 / (1 + np.exp(-scores.reshape(-1))), theirs, atol=1e-4)
    assert np.ptp(theirs) > 0.01


class TestCrossEncoder:
    def test_as_it_is_a_run_learns_nothing_and_needs_no_lists(
        self, cross_encoder_of: Callable[..., str], write_towns: Callable[..., Path], tmp_path: Path
    ) -> None:
        config = CrossEncoderConfig(encoder=cross_encoder_of(), form_tokens=16, tune=False)
        done = run_of(write_towns(tmp_path / "towns"), config, tmp_path / "run")
        assert expected_steps(done) == {"stage1", "validation lists", "re-ranker", "fusion"}
        evaluation = done.evaluate("test")
        assert evaluation.before is not None
        details = done.record(evaluation).details["reranker"]
        assert (details["lists"], details["epochs"], [*details["phases"]]) == (0, 0, ["as it is"])
        loaded, fresh = done.ranker.reranker, config.build(Upstream(done.kb), HERE)
        assert isinstance(loaded, CrossEncoderReranker)
        some = as_lists(done.kb, done.kb.queries("test"), np.tile(np.arange(4), (len(done.kb.queries("test")), 1)))
        np.testing.assert_allclose(loaded.rerank(some), fresh.rerank(some), atol=1e-6)

    def test_tuned_it_learns_from_cross_fitted_lists(
        self, cross_encoder_of: Callable[..., str], write_towns: Callable[..., Path], tmp_path: Path
    ) -> None:
        config = CrossEncoderConfig(encoder=cross_encoder_of(), form_tokens=16, epochs=1, max_tokens=600)
        done = run_of(write_towns(tmp_path / "towns"), config, tmp_path / "run")
        assert "fold 0, lists" in expected_steps(done)
        assert done.plan.reranker_training()["phases"]["learning"]["epoch"] == 1

    def test_preflight_refuses_what_cannot_work(
        self, towns: KnowledgeBase, cross_encoder_of: Callable[..., str], encoder_of: Callable[..., str], tmp_path: Path
    ) -> None:
        wrong = {
            encoder_of(): "names BertModel",
            cross_encoder_of(labels=2): "it has 2 labels",
            str(tmp_path): "No cross-encoder",
            cross_encoder_of(positions=30): "Set form_tokens to at most 13",
        }
        for folder, problem in wrong.items():
            with pytest.raises(ConfigError, match=problem):
                CrossEncoderConfig(encoder=folder, form_tokens=14).preflight(towns, 6, HERE)
        CrossEncoderConfig(encoder=cross_encoder_of(positions=30), form_tokens=13).preflight(towns, 6, HERE)

    def test_a_query_asked_with_many_candidates_is_tokenised_with_each_and_scored_apart(
        self, cross_encoder_of: Callable[..., str], towns: KnowledgeBase
    ) -> None:
        reranker = CrossEncoderConfig(encoder=cross_encoder_of(), form_tokens=16).build(Upstream(towns), HERE)
        entities = np.array([[1, 2, NO_ENTITY], [1, NO_ENTITY, NO_ENTITY]])
        scores = reranker.rerank(as_lists(towns, towns.queries("test")[:2], entities))
        assert np.array_equal(np.isneginf(scores), entities == NO_ENTITY)
        assert scores[0, 0] != scores[1, 0], "another question"
