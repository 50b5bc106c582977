"""Ranking, triple classification and relation prediction by one reader, on facts that a tiny encoder can learn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.core.context import HERE, Context
from cear.core.errors import DataError
from cear.core.types import SPLITS
from cear.data import KnowledgeBase
from cear.evaluation import measure
from cear.retrieval import (
    Classification,
    KgBert,
    KgBertConfig,
    RelationPredictionConfig,
    SlowToRank,
    choose_threshold,
    corrupted_facts,
    draw_training,
    read_judged,
)

SMALL: dict[str, Any] = {"form_tokens": 4, "max_tokens": 400, "learning_rate": 1e-3, "dropout": 0, "validate_facts": 50}


@pytest.fixture(scope="module")
def trained(
    towns: KnowledgeBase, encoder_of: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[KgBert, KgBert]:
    """One before and one after its training."""
    config = KgBertConfig.model_validate(SMALL | {"encoder": encoder_of(), "epochs": 25, "patience": 25})
    fitted = config.fit(towns, tmp_path_factory.mktemp("kg_bert"), HERE)
    assert isinstance(fitted.retriever, KgBert)
    assert fitted.training.best > fitted.training.history[0]["valid"]
    return config.build(towns, HERE), fitted.retriever


def separation(model: KgBert, kb: KnowledgeBase) -> float:
    """The share of pairs of a training fact and a corrupted one that it orders rightly."""
    judged = draw_training(kb, 5, seed=0).judged(kb.n_relations)
    said = model.judge(judged.facts)
    return float((said[judged.true][:, None] > said[~judged.true][None]).mean())


class TestJudging:
    def test_probabilities_are_the_sigmoid_of_scores(
        self, trained: tuple[KgBert, KgBert], towns: KnowledgeBase
    ) -> None:
        facts = towns.facts("test")
        scores = trained[1].score_candidates(towns.queries("test")[np.arange(len(facts))], facts[:, 2:])
        probabilities = trained[1].judge(facts)
        assert probabilities.shape == (len(facts),)
        np.testing.assert_allclose(probabilities, torch.sigmoid(scores[:, 0]).numpy(), atol=1e-6)

    def test_training_teaches_true_from_false(self, trained: tuple[KgBert, KgBert], towns: KnowledgeBase) -> None:
        before, after = (separation(model, towns) for model in trained)
        assert after > max(before, 0.8)

    def test_both_questions_of_a_fact_have_its_one_score(
        self, trained: tuple[KgBert, KgBert], towns: KnowledgeBase
    ) -> None:
        queries, gold = towns.queries("test"), towns.gold("test")
        scores = trained[1].score_candidates(queries, gold[:, None])[:, 0]
        tails, heads = scores.view(2, -1)
        torch.testing.assert_close(tails, heads, atol=1e-5, rtol=1e-5)


def test_it_says_how_slow_it_is(trained: tuple[KgBert, KgBert]) -> None:
    assert isinstance(trained[1], SlowToRank)
    assert 0 < trained[1].seconds_a_score() < 0.1


class TestThreshold:
    def test_on_paper(self) -> None:
        probabilities, true = np.array([0.9, 0.2, 0.7, 0.4]), np.array([True, False, False, True])
        found = Classification.of(probabilities, true, 0.5)
        assert (found.accuracy, found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5, 0.5)
        assert choose_threshold(probabilities, true) == pytest.approx(0.8), "three right, as with 0.3"

    @pytest.mark.parametrize(
        ("probabilities", "true", "accuracy"),
        [([0.2, 0.8], [True, True], 1.0), ([0.2, 0.8], [False, False], 1.0), ([0.5, 0.5], [True, False], 0.5)],
    )
    def test_all_or_nothing_may_be_true(self, probabilities: list[float], true: list[bool], accuracy: float) -> None:
        said, truth = np.array(probabilities), np.array(true)
        assert Classification.of(said, truth, choose_threshold(said, truth)).accuracy == accuracy

    def test_none_is_better(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(50):
            said, truth = rng.integers(6, size=9) / 5, rng.random(9) < 0.5
            chosen = Classification.of(said, truth, choose_threshold(said, truth)).accuracy
            assert chosen == max(Classification.of(said, truth, t).accuracy for t in [*said, -1.0, 2.0])


class TestJudgedFacts:
    def test_corrupted_ones_are_false_and_unknown(self, towns: KnowledgeBase) -> None:
        judged = corrupted_facts(towns, "test")
        every = {tuple(fact) for split in SPLITS for fact in towns.facts(split).tolist()}
        assert [tuple(fact) in every for fact in judged.facts.tolist()] == judged.true.tolist()
        assert 0 < (~judged.true).sum() <= judged.true.sum()

    def test_a_file_of_them_is_read_by_id_or_name(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        (tmp_path / "test.txt").write_text("t3\tlies_in\tc3\t1\nTown 3\tlies in\tCountry A\t-1\n")
        judged = read_judged(tmp_path / "test.txt", towns)
        assert judged.facts.tolist() == [[3, 0, 28], [3, 0, 25]]
        assert judged.true.tolist() == [True, False]

    @pytest.mark.parametrize(
        ("line", "problem"),
        [("t3\tlies_in\tc3", "1 or -1"), ("t3\tlies_in\tc3\t2", "1 or -1"), ("x9\tlies_in\tc3\t1", "x9")],
    )
    def test_a_bad_line_is_named(self, towns: KnowledgeBase, tmp_path: Path, line: str, problem: str) -> None:
        (tmp_path / "test.txt").write_text(f"t3\tlies_in\tc3\t1\n{line}\n")
        with pytest.raises(DataError, match=rf"test\.txt:2: .*{problem}"):
            read_judged(tmp_path / "test.txt", towns)


class TestRelationPrediction:
    def test_it_learns_and_is_loaded_again(
        self, towns: KnowledgeBase, encoder_of: Callable[..., str], tmp_path: Path
    ) -> None:
        config = RelationPredictionConfig.model_validate(SMALL | {"encoder": encoder_of(), "epochs": 9})
        made = config.fit(towns, tmp_path, HERE)
        ranks = made.ranks("test")
        assert len(ranks) == len(towns.facts("test"))
        assert measure(ranks)["mrr"] > measure(config.build(towns).ranks("test"))["mrr"]
        again = config.load(towns, tmp_path)
        np.testing.assert_allclose(again.scores(towns.facts("test")), made.scores(towns.facts("test")), atol=1e-6)

    def test_the_relation_itself_is_not_read(self, towns: KnowledgeBase, encoder_of: Callable[..., str]) -> None:
        config = RelationPredictionConfig.model_validate(SMALL | {"encoder": encoder_of()})
        made, facts = config.build(towns, Context(seed=1)), towns.facts("test")
        scores = made.scores(facts)
        assert scores.shape == (len(facts), towns.n_relations)
        np.testing.assert_array_equal(scores, made.scores(facts * np.array([1, 0, 1])))

    def test_other_known_relations_of_a_pair_do_not_count(
        self, towns: KnowledgeBase, encoder_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Relations 0 and 2 score above 1, the gold; 0 holds between the same two, in train."""
        splits: Any = {"train": np.array([[0, 0, 1]]), "valid": np.array([[0, 2, 5]]), "test": np.array([[0, 1, 1]])}
        kb = KnowledgeBase("three", towns.entities, towns.relations, splits)
        config = RelationPredictionConfig.model_validate(SMALL | {"encoder": encoder_of()})
        made = config.build(kb)
        monkeypatch.setattr(made, "scores", lambda *_, **__: np.array([[3.0, 1.0, 2.0]], np.float32))
        assert made.ranks("test").under().tolist() == [2.0]
