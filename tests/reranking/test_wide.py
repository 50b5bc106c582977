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

from cear.candidates import Lists, Manifest, Retrievers, fold_by_pair, hold_out, labels, make_lists
from cear.config import RunConfig
from cear.core.context import Context
from cear.core.errors import ConfigError
from cear.core.types import NO_ENTITY, Candidates, Ints, Queries
from cear.data import KnowledgeBase
from cear.pipeline import Run, open_run, run
from cear.reranking import Upstream, WideConfig, WideReranker, train_phases
from cear.reranking.wide.features import aligned, n_features, retriever_columns
from cear.reranking.wide.graph import NAMES, GraphFeatures
from cear.reranking.wide.model import Layer
from cear.retrieval import ComplExConfig, RowsConfig, RuleRetriever, RuleSettings, Scorer, learn_rules

pytestmark = pytest.mark.usefixtures("own_cache")

SMALL: dict[str, Any] = {"width": 8, "heads": 2, "layers": 2, "epochs": 2, "dropout": 0.0, "max_tokens": 100}
STAGE1 = ComplExConfig(rank=4, batch=20, epochs=1, embedding=RowsConfig(scale=0.5))

Make = Callable[..., WideReranker]


def random_scorer(kb: KnowledgeBase, seed: int) -> Scorer:
    return STAGE1.build(kb, Context(seed=seed))


def rules_of(kb: KnowledgeBase) -> RuleRetriever:
    return RuleRetriever(learn_rules(kb.facts("train"), kb.n_entities, kb.n_relations, RuleSettings()))


@pytest.fixture
def lists(towns: KnowledgeBase) -> Lists:
    """By a Stage 1 that knows nothing, and rules beside it."""
    retrievers = Retrievers(towns, random_scorer(towns, 5), {"rules": rules_of(towns)})
    manifest = Manifest("towns", towns.digest, "train", 6, "keep", "random + rules")
    return make_lists(retrievers, towns.known("train").queries, manifest)


@pytest.fixture
def reranker_of(towns: KnowledgeBase, encoder_of: Callable[..., str]) -> Make:
    def make(fold_retriever: Any = None, **settings: Any) -> WideReranker:
        config = WideConfig.model_validate(SMALL | {"encoder": encoder_of()} | settings)
        return config.build(Upstream(towns, ["rules"], fold_retriever), Context(seed=1))

    return make


@pytest.fixture
def features(lists: Lists, towns: KnowledgeBase) -> Any:
    """All groups of features of the lists."""
    return WideConfig().features_of(lists, towns)


class TestAlignedInputs:
    """What retrievers say in training lists, with the mean and deviation that it has at use."""

    def test_mean_and_deviation_are_those_at_use_and_counts_stay(self) -> None:
        ours, theirs = np.array([[[0.0, 7.0], [2.0, 8.0]]]), np.array([[[10.0, 1.0], [16.0, 1.0]]])
        assert aligned(ours, theirs, 1).tolist() == [[[10.0, 7.0], [16.0, 8.0]]]

    def test_a_column_that_says_nothing_at_use_says_nothing(self) -> None:
        assert aligned(np.array([[[1.0], [3.0]]]), np.array([[[5.0], [5.0]]]), 1).tolist() == [[[5.0], [5.0]]]

    def test_only_what_retrievers_say_is_aligned(self, features: Any) -> None:
        config = WideConfig(align_inputs=True)
        columns = retriever_columns(config, features.shape[-1])
        assert columns == n_features(WideConfig(graph=False), 1)
        moved = config.prepare(features, lambda: 2 * features)
        assert np.allclose(moved[..., :columns], 2 * features[..., :columns], atol=1e-5)
        assert (moved[..., columns:] == features[..., columns:]).all()

    def test_without_the_setting_nobody_asks_what_is_said_at_use(self, features: Any) -> None:
        assert WideConfig().prepare(features, lambda: pytest.fail("asked")) is features


def disturbed(reranker: WideReranker) -> WideReranker:
    """The same with a head that says something, as after training."""
    with torch.no_grad():
        for parameter in reranker.model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)) * 0.3)
    return reranker


def permuted(lists: Lists, order: Ints) -> Lists:
    found = Candidates(lists.candidates.entities[:, order], lists.candidates.scores[:, order])
    return Lists(lists.queries, found, lists.manifest, lists.extra[:, order])


class TestScores:
    def test_untrained_it_is_stage_1(self, reranker_of: Make, lists: Lists) -> None:
        scores = reranker_of().rerank(lists)
        assert (np.diff(scores, axis=1) <= 0).all(), "the lists are in Stage 1's order"

    @pytest.mark.parametrize("attention", ["cross", "independent"])
    def test_a_list_in_another_order_has_the_same_scores_in_that_order(
        self, reranker_of: Make, lists: Lists, features: Any, attention: str
    ) -> None:
        reranker, order = disturbed(reranker_of(attention=attention)), np.array([3, 0, 5, 1, 4, 2])
        straight = reranker.score(lists, features).detach().numpy()
        other = reranker.score(permuted(lists, order), features[:, order]).detach().numpy()
        np.testing.assert_allclose(other, straight[:, order], atol=1e-5)

    def test_it_depends_on_its_own_list_alone(self, reranker_of: Make, lists: Lists) -> None:
        reranker = disturbed(reranker_of())
        together, alone = reranker.rerank(lists), reranker.rerank(lists[4:5])
        np.testing.assert_allclose(alone[0], together[4], atol=1e-5)

    def test_padding_changes_nothing_and_stays_last(self, reranker_of: Make, lists: Lists) -> None:
        reranker = disturbed(reranker_of())
        entities = np.concatenate([lists.candidates.entities, np.full((len(lists), 2), NO_ENTITY)], axis=1)
        scores = np.concatenate([lists.candidates.scores, np.full((len(lists), 2), -np.inf)], axis=1)
        extra = np.concatenate([lists.extra, np.full((len(lists), 2, 1), -np.inf)], axis=1)
        longer = reranker.rerank(replace(lists, candidates=Candidates(entities, scores), extra_scores=extra))
        assert np.isneginf(longer[:, 6:]).all()
        np.testing.assert_allclose(longer[:, :6], reranker.rerank(lists), atol=1e-5)

    @pytest.mark.parametrize(("attention", "same"), [("cross", False), ("independent", True)])
    def test_candidates_see_each_other_unless_they_are_independent(
        self, reranker_of: Make, lists: Lists, features: Any, attention: str, same: bool
    ) -> None:
        reranker = disturbed(reranker_of(attention=attention))
        changed = features.copy()
        changed[:, 5] += 1.0
        one, other = (reranker.score(lists, each).detach().numpy()[:, :5] for each in (features, changed))
        assert np.allclose(one, other, atol=1e-5) == same

    @pytest.mark.parametrize("group", ["text", "scores", "extra_scores", "graph"])
    def test_every_group_of_features_can_be_switched_off(
        self, reranker_of: Make, lists: Lists, towns: KnowledgeBase, group: str
    ) -> None:
        whole, without = WideConfig(), WideConfig.model_validate({group: False})
        lost = {"text": 0, "scores": 2, "extra_scores": 4, "graph": len(NAMES) - 1}[group]  # `linked` is off
        widths = [config.features_of(lists, towns).shape[-1] for config in (whole, without)]
        assert widths == [n_features(config, 1) for config in (whole, without)]
        assert widths[0] - widths[1] == lost
        reranker = reranker_of(**{group: False})
        assert reranker.rerank(lists).shape == (len(lists), 6)
        assert any("text" in name for name, _ in reranker.model.named_parameters()) == (group != "text")
        assert (whole.feature_settings == without.feature_settings) == (group == "text")


class TestAttention:
    def test_it_is_what_the_network_weighs_values_with(self) -> None:
        """Values that are the rows of a unit matrix come out as the weights themselves."""
        torch.manual_seed(0)
        layer, tokens = Layer(WideConfig(width=8, heads=2, dropout=0.0)), torch.randn(3, 5, 8)
        q, k, v = layer.query_key_value(layer.before_attention(tokens)).unflatten(-1, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        expected = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        torch.testing.assert_close(layer.attention(tokens, None) @ v, expected)

    def test_everybody_looks_at_everybody_real(self, reranker_of: Make, lists: Lists) -> None:
        entities = lists.candidates.entities.copy()
        entities[0, -1] = NO_ENTITY
        found = reranker_of().attention(replace(lists, candidates=Candidates(entities, lists.candidates.scores)))
        assert found.shape == (2, len(lists), 2, 7, 7)  # layers, lists, heads, the query and six candidates
        np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-5)
        assert (found[:, 0, :, :, -1] == 0).all()
        assert (found[:, 0, :, :, :-1] > 0).all()

    def test_alone_a_candidate_looks_at_the_query_and_itself(self, reranker_of: Make, lists: Lists) -> None:
        found = reranker_of(attention="independent").attention(lists)
        both = found[..., 0] + np.diagonal(found, axis1=-2, axis2=-1)
        np.testing.assert_allclose(both[..., 1:], 1, rtol=1e-5)  # the query itself has but one place to look at


class TestVectors:
    def test_they_are_read_and_the_order_of_a_list_still_does_not_matter(
        self, reranker_of: Make, lists: Lists, features: Any, towns: KnowledgeBase
    ) -> None:
        one, other = (disturbed(reranker_of(random_scorer(towns, seed), vectors=True)) for seed in (0, 1))
        order = np.array([3, 0, 5, 1, 4, 2])
        scores = one.score(lists, features).detach().numpy()
        assert not np.allclose(scores, other.score(lists, features).detach().numpy())
        there = one.score(permuted(lists, order), features[:, order]).detach().numpy()
        np.testing.assert_allclose(there, scores[:, order], atol=1e-5)

    def test_rules_have_none(self, reranker_of: Make, towns: KnowledgeBase) -> None:
        with pytest.raises(ConfigError, match="RuleRetriever has no vectors"):
            reranker_of(rules_of(towns), vectors=True, text=False)

    def test_they_need_one_fold(self) -> None:
        with pytest.raises(ConfigError, match=r"needs candidates\.crossfit with held_out_folds: 1"):
            RunConfig.parse(
                {
                    "candidates": {"crossfit": {"folds": 3, "held_out_folds": 2}},
                    "reranker": {"kind": "wide", "vectors": True},
                },
                source="here",
            )

    @pytest.mark.parametrize("inputs", ["vectors", "align_inputs"])
    def test_a_run_with_them_opens_to_the_same_run(
        self, inputs: str, tmp_path: Path, write_towns: Any, encoder_of: Callable[..., str]
    ) -> None:
        reranker = {"kind": "wide", "encoder": encoder_of(), inputs: True, "validate_facts": 5} | SMALL
        values = {"data": str(write_towns(tmp_path / "towns")), "stage1": {"rank": 8, "batch": 60, "epochs": 2}}
        values |= {"candidates": {"k": 6, "crossfit": {"folds": 3, "epochs": 1}}, "reranker": reranker}
        made = run(RunConfig.model_validate(values), tmp_path / "run")
        queries = made.kb.queries("test")
        np.testing.assert_array_equal(open_run(tmp_path / "run").rank(queries).scores, made.rank(queries).scores)


class TestListsItLearnsFrom:
    @pytest.mark.parametrize(
        "candidates", [{"crossfit": None, "known": "keep"}, {"lists": "mine.parquet"}], ids=["no folds", "own lists"]
    )
    def test_of_retrievers_that_saw_their_facts_are_refused(self, candidates: Any) -> None:
        values = {"candidates": candidates, "reranker": {"kind": "wide"}}
        with pytest.raises(
            ConfigError, match=r"give the answer away; set candidates\.crossfit or candidates\.learn_from: valid, leave"
        ):
            RunConfig.parse(values, source="here")
        values["reranker"] = {"kind": "sequence"}
        assert RunConfig.parse(values, source="here").reranker is not None, "the paper's may"


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
        count = "cear.reranking.wide.shared._count_shared"
        monkeypatch.setattr(count, lambda *_: seen.append(numba.get_num_threads()))
        threads = torch.get_num_threads()
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
        torch.set_num_threads(1)
        try:
            GraphFeatures(towns.facts("train"), 30, 3).of(lists)
        finally:
            torch.set_num_threads(threads)
        assert seen == [1]


class TestHeldOutFolds:
    """Every feature of a held-out list is computed without the fold's facts."""

    def features(self, kb: KnowledgeBase, folder: Path) -> Any:
        """Those of some queries through retrievers that never had fold 0."""
        rest, _ = hold_out(kb, fold_by_pair(kb.facts("train"), 4, seed=3), 0)
        stage1 = STAGE1.fit(rest, folder, Context(seed=3)).retriever
        manifest = Manifest("towns", kb.digest, "train", 6, "drop", "complex")
        # The same queries whatever the fold holds: what it asks is not what is tested here.
        queries = Queries(np.arange(30), np.arange(30) % 6)
        found = make_lists(Retrievers(rest, stage1, {"rules": rules_of(rest)}), queries, manifest)
        return WideConfig(linked=True).features_of(found, rest)

    @pytest.mark.parametrize("inside", [True, False])
    def test_poison_in_the_fold_changes_none_and_poison_outside_does(
        self, towns: KnowledgeBase, tmp_path: Path, inside: bool
    ) -> None:
        facts = towns.facts("train").copy()
        where = (fold_by_pair(facts, 4, seed=3) == 0) == inside
        facts[where, 1] = (facts[where, 1] + 1) % 3  # another relation keeps the pair, and so the fold
        splits: Any = {"train": facts, "valid": towns.facts("valid")}
        poisoned = KnowledgeBase("towns", towns.entities, towns.relations, splits)
        assert where.any()
        clean, other = (self.features(kb, tmp_path / kb.digest) for kb in (towns, poisoned))
        assert np.array_equal(clean, other) == inside


class TestTraining:
    def test_it_learns_which_candidates_are_answers(
        self, reranker_of: Make, lists: Lists, features: Any, towns: KnowledgeBase, tmp_path: Path
    ) -> None:
        reranker, looks = reranker_of(epochs=30, learning_rate=1e-2), iter(range(30))
        validate: Any = lambda _: float(next(looks))  # noqa: E731 - every epoch is better than the one before
        trained = train_phases(reranker, lists, features, towns, tmp_path, validate=validate, context=Context())
        losses = [look["loss"] for look in trained.phases["learning"].history]
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
    values |= {"candidates": {"k": 6, "crossfit": {"folds": 3, "held_out_folds": 2}}}
    values["candidates"]["extra_retrievers"] = {"rules": {"model": "rules"}}
    values |= {"reranker": {"kind": "wide", "encoder": encoder_of(), "validate_facts": 5} | SMALL}
    return run(RunConfig.model_validate(values), folder / "run")


class TestRun:
    def test_it_leaves_a_folder_that_opens_to_the_same_run(self, done: Run) -> None:
        queries = done.kb.queries("test")
        again, before = open_run(done.folder).rank(queries, 30), done.rank(queries, 30)
        assert np.array_equal(again.entities, before.entities)
        np.testing.assert_array_equal(again.scores, before.scores)
        assert len(done.evaluate("test").ranks) == 24
        assert {"fold 0, rules", "fold 1, rules", "fold 1, lists: features"} <= {step.name for step in done.steps()}

    def test_asked_it_answers_in_its_own_order(self, done: Run) -> None:
        answers = done.ask("road to", subject="Town 3", k=30)
        assert [answer.rank for answer in answers] == [*range(30)], "one is known, and needs no ranking"
        assert sorted(answer.stage1_rank for answer in answers) == [*range(30)]
        scores = [answer.score for answer in answers if answer.score is not None]
        assert scores == sorted(scores, reverse=True)
        assert len(scores) == 6

    def test_it_has_no_8_bit_encoder(self, done: Run) -> None:
        with pytest.raises(ConfigError, match="kind: sequence"):
            open_run(done.folder, int8=True).rank(done.kb.queries("test"))
