"""The wide re-ranker: one token a candidate; untrained it is Stage 1, and the order of a list does not matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
import torch

from cear.candidates import (
    CandidatesConfig,
    CrossfitConfig,
    Lists,
    Manifest,
    Retrievers,
    crossfit_folds,
    fold_by_pair,
    labels,
    make_lists,
)
from cear.config import RunConfig
from cear.core.errors import ConfigError
from cear.core.types import NO_ENTITY, Candidates, Ints, Queries
from cear.data import KnowledgeBase
from cear.pipeline import Run, open_run, run
from cear.reranking import WideConfig, WideReranker, train_stage2
from cear.reranking.wide import graph
from cear.reranking.wide.evidence import Evidence, n_numbers
from cear.reranking.wide.graph import N_GRAPH, NAMES, GraphFeatures
from cear.retrieval import RuleRetriever, RulesConfig, Stage1Config, build_scorer, learn_rules

pytestmark = pytest.mark.usefixtures("own_cache")

SMALL: dict[str, Any] = {"width": 8, "heads": 2, "layers": 2, "epochs": 2, "dropout": 0.0, "max_tokens": 100}

Make = Callable[..., WideReranker]


@pytest.fixture
def retrievers(towns: KnowledgeBase) -> Retrievers:
    """A Stage 1 that knows nothing, and rules beside it."""
    rules = RuleRetriever(learn_rules(towns.facts("train"), 30, 3, RulesConfig()))
    scorer = build_scorer(Stage1Config(rank=4, init_scale=0.5), 30, 3, seed=5)
    return Retrievers(towns, scorer, {"rules": rules})


@pytest.fixture
def lists(towns: KnowledgeBase, retrievers: Retrievers) -> Lists:
    manifest = Manifest("towns", towns.digest, "train", 6, "keep", "random + rules")
    return make_lists(retrievers, towns.known("train").queries, manifest)


@pytest.fixture
def reranker_of(retrievers: Retrievers, encoder_of: Callable[..., str]) -> Make:
    def make(**settings: Any) -> WideReranker:
        config = WideConfig.model_validate(SMALL | {"encoder": encoder_of()} | settings)
        return WideReranker(retrievers, config, seed=1)

    return make


def disturbed(reranker: WideReranker) -> WideReranker:
    """The same with a head that says something, as after training."""
    with torch.no_grad():
        for parameter in reranker.model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)) * 0.3)
    return reranker


def permuted(lists: Lists, order: Ints) -> Lists:
    found = Candidates(lists.candidates.entities[:, order], lists.candidates.scores[:, order])
    return Lists(lists.queries, found, lists.manifest)


class TestUnion:
    def test_lists_hold_the_best_of_each_retriever_once_in_stage_1s_order(
        self, retrievers: Retrievers, lists: Lists
    ) -> None:
        for retriever in (retrievers.first, *retrievers.also.values()):
            scores = retriever.score_all(lists.queries).detach().numpy()
            listed = np.take_along_axis(scores, lists.candidates.entities, axis=1)
            np.testing.assert_allclose(np.sort(listed)[:, -3:], np.sort(scores)[:, -3:], rtol=1e-5)
        assert all(len(set(entities)) == 6 for entities in lists.candidates.entities.tolist())
        assert (np.diff(lists.candidates.scores, axis=1) <= 0).all()

    def test_nothing_beside_stage_1_is_stage_1(self, retrievers: Retrievers, lists: Lists) -> None:
        alone = Retrievers(retrievers.kb, retrievers.first, {}).top_k(lists.queries, 5)
        same = Retrievers(retrievers.kb, retrievers.first, {"twin": retrievers.first}).top_k(lists.queries, 5)
        assert np.array_equal(alone.entities, same.entities)

    def test_lists_that_are_too_short_are_padded(self, retrievers: Retrievers, towns: KnowledgeBase) -> None:
        found = retrievers.top_k(towns.queries("test"), 30, drop=towns.known("train"))
        counts = towns.known("train").of_queries(towns.queries("test")).counts
        assert np.array_equal((found.entities == NO_ENTITY).sum(axis=1), counts)
        assert np.isneginf(found.scores[found.entities == NO_ENTITY]).all()


class TestScores:
    def test_untrained_it_is_stage_1(self, reranker_of: Make, lists: Lists) -> None:
        scores = reranker_of().rerank(lists)
        assert (np.diff(scores, axis=1) <= 0).all(), "the lists are in Stage 1's order"

    @pytest.mark.parametrize("attention", ["cross", "independent"])
    def test_a_list_in_another_order_has_the_same_scores_in_that_order(
        self, reranker_of: Make, lists: Lists, attention: str
    ) -> None:
        reranker, order = disturbed(reranker_of(attention=attention)), np.array([3, 0, 5, 1, 4, 2])
        inputs = reranker.inputs(lists)
        straight = reranker.score(lists, inputs).detach().numpy()
        other = reranker.score(permuted(lists, order), inputs[:, order]).detach().numpy()
        np.testing.assert_allclose(other, straight[:, order], atol=1e-5)

    def test_it_depends_on_its_own_list_alone(self, reranker_of: Make, lists: Lists) -> None:
        reranker = disturbed(reranker_of())
        together, alone = reranker.rerank(lists), reranker.rerank(lists[4:5])
        np.testing.assert_allclose(alone[0], together[4], atol=1e-5)

    def test_padding_changes_nothing_and_stays_last(self, reranker_of: Make, lists: Lists) -> None:
        reranker = disturbed(reranker_of())
        entities = np.concatenate([lists.candidates.entities, np.full((len(lists), 2), NO_ENTITY)], axis=1)
        scores = np.concatenate([lists.candidates.scores, np.full((len(lists), 2), -np.inf)], axis=1)
        longer = reranker.rerank(replace(lists, candidates=Candidates(entities, scores)))
        assert np.isneginf(longer[:, 6:]).all()
        np.testing.assert_allclose(longer[:, :6], reranker.rerank(lists), atol=1e-5)

    @pytest.mark.parametrize(("attention", "same"), [("cross", False), ("independent", True)])
    def test_candidates_see_each_other_unless_they_are_independent(
        self, reranker_of: Make, lists: Lists, attention: str, same: bool
    ) -> None:
        reranker = disturbed(reranker_of(attention=attention))
        inputs = reranker.inputs(lists)
        changed = inputs.copy()
        changed[:, 5] += 1.0
        one, other = (reranker.score(lists, each).detach().numpy()[:, :5] for each in (inputs, changed))
        assert np.allclose(one, other, atol=1e-5) == same

    @pytest.mark.parametrize("group", ["text", "scores", "others", "graph"])
    def test_every_group_of_inputs_can_be_switched_off(self, reranker_of: Make, lists: Lists, group: str) -> None:
        whole, without = reranker_of(), reranker_of(**{group: False})
        lost = {"text": 0, "scores": 2, "others": 4, "graph": N_GRAPH}[group]
        assert whole.inputs(lists).shape[-1] - without.inputs(lists).shape[-1] == lost
        assert without.inputs(lists).shape[-1] == n_numbers(without.config, 1)
        assert without.rerank(lists).shape == (len(lists), 6)
        assert any("text" in name for name, _ in without.model.named_parameters()) == (group != "text")


class TestVectors:
    def test_they_are_inputs_and_the_order_of_a_list_still_does_not_matter(
        self, retrievers: Retrievers, lists: Lists, encoder_of: Callable[..., str]
    ) -> None:
        config = WideConfig.model_validate(SMALL | {"encoder": encoder_of(), "vectors": True})
        one, other = (
            disturbed(WideReranker(retrievers, config, vectors_of=build_scorer(Stage1Config(rank=4), 30, 3, seed=seed)))
            for seed in (0, 1)
        )
        inputs, order = one.inputs(lists), np.array([3, 0, 5, 1, 4, 2])
        scores = one.score(lists, inputs).detach().numpy()
        assert not np.allclose(scores, other.score(lists, inputs).detach().numpy())
        there = one.score(permuted(lists, order), inputs[:, order]).detach().numpy()
        np.testing.assert_allclose(there, scores[:, order], atol=1e-5)

    def test_rules_have_none(self, retrievers: Retrievers) -> None:
        with pytest.raises(ConfigError, match="RuleRetriever has no vectors"):
            WideReranker(retrievers, WideConfig(vectors=True, text=False), vectors_of=retrievers.also["rules"])

    @pytest.mark.parametrize("crossfit", [None, {"folds": 3, "use": 2}])
    def test_they_need_one_fold(self, crossfit: Any) -> None:
        with pytest.raises(ConfigError, match=r"needs candidates\.crossfit with use: 1"):
            RunConfig.parse(
                {"candidates": {"crossfit": crossfit, "known": "keep"}, "reranker": {"kind": "wide", "vectors": True}},
                source="here",
            )

    def test_a_run_with_them_opens_to_the_same_run(
        self, tmp_path: Path, write_towns: Any, encoder_of: Callable[..., str]
    ) -> None:
        reranker = {"kind": "wide", "encoder": encoder_of(), "vectors": True, "validate_facts": 5} | SMALL
        values = {"data": str(write_towns(tmp_path / "towns")), "stage1": {"rank": 8, "batch": 60, "epochs": 2}}
        values |= {"candidates": {"k": 6, "crossfit": {"folds": 3, "epochs": 1}}, "reranker": reranker}
        made = run(RunConfig.model_validate(values), tmp_path / "run")
        assert open_run(tmp_path / "run").evaluate("test").summary() == made.evaluate("test").summary()


class TestGraphFeatures:
    def test_counts_on_paper(self) -> None:
        # 0 -r0-> 1, 0 -r0-> 2, 3 -r0-> 2, 3 -r1-> 1: 0 and 3 share the neighbours 1 and 2.
        facts = np.array([[0, 0, 1], [0, 0, 2], [3, 0, 2], [3, 1, 1]])
        manifest = Manifest("small", "digest", "train", 2, "keep", "nobody")
        one = Lists(Queries(np.array([0]), np.array([0])), Candidates(np.array([[3, 2]]), np.zeros((1, 2))), manifest)
        features = dict(zip(NAMES, GraphFeatures(facts, 4, 2).of(one)[0].T, strict=True))
        expected = {
            "degree of the candidate": np.log1p([2, 2]),
            "facts of the relation that it answers": np.log1p([0, 2]),
            "share of the relation's facts that it answers": [0, 2 / 3],
            "neighbours shared with the query's entity": np.log1p([2, 0]),
            "the same, rare neighbours counting more": [2 / np.log(3), 0],
            "the same, as a share of all their neighbours": [1, 0],
            "linked to the query's entity by some relation": [0, 1],
            "degree of the query's entity": np.log1p([2, 2]),
            "known answers of the query": np.log1p([2, 2]),
        }
        for name, values in expected.items():
            np.testing.assert_allclose(features[name], values, rtol=1e-5, err_msg=name)

    def test_are_counted_on_as_many_threads_as_pytorch_has(
        self, lists: Lists, towns: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[int] = []
        monkeypatch.setattr(graph, "_count_shared", lambda *_: seen.append(numba.get_num_threads()))
        threads = torch.get_num_threads()
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
        torch.set_num_threads(1)
        try:
            GraphFeatures(towns.facts("train"), 30, 3).of(lists)
        finally:
            torch.set_num_threads(threads)
        assert seen == [1]


class TestHeldOutFolds:
    """Every input of a held-out list is computed without the fold's facts."""

    def seen(self, kb: KnowledgeBase, queries: Queries, folder: Path) -> Any:
        """The inputs of some queries through the retrievers that never had fold 0."""
        config = CandidatesConfig(k=6, also={"rules": Stage1Config(model="rules")})
        stage1, crossfit = Stage1Config(rank=4, batch=20, epochs=1), CrossfitConfig(folds=4)
        fold = crossfit_folds(kb, stage1, config, crossfit, folder, validate_on=lambda _: lambda _: 1.0, seed=3)[0]
        found = make_lists(fold.retrievers, queries, fold.lists.manifest)
        return Evidence(fold.retrievers, WideConfig()).of(found)

    @pytest.mark.parametrize("inside", [True, False])
    def test_poison_in_the_fold_changes_no_input_and_poison_outside_does(
        self, towns: KnowledgeBase, tmp_path: Path, inside: bool
    ) -> None:
        facts = towns.facts("train").copy()
        where = (fold_by_pair(facts, 4, seed=3) == 0) == inside
        facts[where, 1] = (facts[where, 1] + 1) % 3  # another relation keeps the pair, and so the fold
        splits: Any = {"train": facts, "valid": towns.facts("valid")}
        poisoned = KnowledgeBase("towns", towns.entities, towns.relations, splits)
        assert where.any()
        queries = towns.known("train").queries
        clean, other = (self.seen(kb, queries, tmp_path / kb.digest) for kb in (towns, poisoned))
        assert np.array_equal(clean, other) == inside


class TestTraining:
    def test_it_learns_which_candidates_are_answers(
        self, reranker_of: Make, lists: Lists, towns: KnowledgeBase, tmp_path: Path
    ) -> None:
        reranker, looks = reranker_of(epochs=30, learning_rate=1e-2), iter(range(30))
        state = train_stage2(reranker, lists, towns, tmp_path, validate=lambda _: float(next(looks)))
        losses = [look["loss"] for look in state.history]
        assert losses[-1] < 0.5 * losses[0]
        useful = labels(lists, towns.known("train")).any(axis=1)
        best = reranker.rerank(lists).argmax(axis=1)
        first = labels(lists, towns.known("train"))[np.arange(len(lists)), best]
        assert first[useful].mean() > 2 * labels(lists, towns.known("train"))[useful, 0].mean()


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, write_towns: Any, encoder_of: Callable[..., str]) -> Run:
    folder = tmp_path_factory.mktemp("wide")
    values: dict[str, Any] = {"data": str(write_towns(folder / "towns")), "seed": 1}
    values |= {"stage1": {"rank": 8, "batch": 60, "epochs": 2}}
    values |= {"candidates": {"k": 6, "crossfit": {"folds": 3, "use": 2}, "also": {"rules": {"model": "rules"}}}}
    values |= {"reranker": {"kind": "wide", "encoder": encoder_of(), "validate_facts": 5} | SMALL}
    return run(RunConfig.model_validate(values), folder / "run")


class TestRun:
    def test_it_leaves_a_folder_that_opens_to_the_same_run(self, done: Run) -> None:
        again = open_run(done.folder)
        assert again.evaluate("test").summary() == done.evaluate("test").summary()
        assert len(done.evaluate("test").ranks) == 24
        assert {path.name for path in (done.folder / "crossfit").iterdir()} == {"fold0", "fold1"}

    def test_asked_it_answers_in_its_own_order(self, done: Run) -> None:
        answers = done.ask("road to", subject="Town 3", k=30)
        assert len(answers) == 30
        assert sorted(answer.stage1_rank for answer in answers) == [*range(1, 31)]
        scores = [answer.score for answer in answers if answer.score is not None]
        assert scores == sorted(scores, reverse=True)
        assert len(scores) == 6

    def test_it_has_no_8_bit_encoder(self, done: Run) -> None:
        with pytest.raises(ConfigError, match="kind: sequence"):
            open_run(done.folder, int8=True)
