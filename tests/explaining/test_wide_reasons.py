"""Reasons of the wide re-ranker: groups of inputs, and lists that are read again without a rival."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import Lists, Retrievers
from cear.core.context import Context
from cear.core.errors import UnknownName
from cear.core.types import Candidates, Floats, Ints, Queries
from cear.data import KnowledgeBase
from cear.explaining import Reasons, explain
from cear.ranking import Ranker
from cear.reranking import Fusion, GroupsInputs, Upstream, WideConfig, WideReranker
from cear.reranking.wide.features import feature_groups, n_features
from cear.retrieval import ComplExConfig, GivesReasons, RowsConfig, RuleRetriever, Scorer, learn_rules

pytestmark = pytest.mark.usefixtures("own_cache")

GROUPS = ("stage 1", "rules", "graph counts", "text vectors", "stage 1 vectors")


@pytest.fixture
def stage1(towns: KnowledgeBase) -> Scorer:
    """One that knows nothing."""
    return ComplExConfig(rank=4, embedding=RowsConfig(scale=0.5)).build(towns, Context(seed=5))


@pytest.fixture
def wide(towns: KnowledgeBase, stage1: Scorer, encoder_of: Callable[..., str]) -> WideReranker:
    """One that reads everything, and whose head says something, as after training."""
    config = WideConfig(width=8, heads=2, encoder=encoder_of(), vectors=True)
    reranker = config.build(Upstream(towns, ["rules"], stage1), Context(seed=1))
    with torch.no_grad():
        for weight in reranker.model.parameters():
            weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(3)) * 0.3)
    return reranker


@pytest.fixture
def ranker(towns: KnowledgeBase, stage1: Scorer, wide: WideReranker) -> Ranker:
    rules = RuleRetriever(learn_rules(towns.facts("train"), 30, 3))
    return Ranker(Retrievers(towns, stage1, {"rules": rules}), 6, reranker=wide, fusion=Fusion((0.7,) * 6))


def asked(kb: KnowledgeBase) -> tuple[Queries, Ints]:
    """Every test query with its gold."""
    return kb.queries("test"), kb.gold("test")


def log_softmax(scores: Floats) -> Floats:
    return np.asarray(scores - np.log(np.exp(scores).sum()))


def list_of(ranker: Ranker, reasons: Reasons) -> Lists:
    """The list of one query, as the ranker makes it."""
    query = Queries(np.array([reasons.entity]), np.array([reasons.relation]))
    return ranker.lists(query, ranker.retrievers.score_block(query))


def without(lists: Lists, entity: int) -> Lists:
    """A shorter list: this entity is cut out of it."""
    (place,) = np.flatnonzero(lists.candidates.entities[0] == entity)
    entities, scores, extra = (
        np.delete(values, place, axis=1) for values in (lists.candidates.entities, lists.candidates.scores, lists.extra)
    )
    return replace(lists, candidates=Candidates(entities, scores), extra_scores=extra)


class TestRivals:
    def test_the_answer_has_what_it_has_in_a_list_without_the_rival(self, ranker: Ranker) -> None:
        queries, _ = asked(ranker.kb)
        found = explain(ranker, queries, ranker.rank(queries, 1).entities[:, 0])
        for reasons in found:
            assert (reasons.listed, reasons.place, len(reasons.rivals)) == (True, 1, 3)
            for rival in reasons.rivals:
                lists = without(list_of(ranker, reasons), rival.entity)
                shares = log_softmax(ranker.final_scores(lists)[0])
                by_hand = shares[lists.candidates.entities[0] == reasons.answer]
                assert rival.answer_without == pytest.approx(by_hand.item(), abs=1e-4)
        assert max(abs(rival.effect) for each in found for rival in each.rivals) > 0.01, "they look at each other"

    def test_the_strongest_come_first_and_none_is_the_answer(self, ranker: Ranker) -> None:
        for reasons in explain(ranker, *asked(ranker.kb), rivals=9):
            shares = [rival.log_probability for rival in reasons.rivals]
            assert shares == sorted(shares, reverse=True)
            assert len(shares) == reasons.candidates - 1 == 5
            assert reasons.answer not in {rival.entity for rival in reasons.rivals}
            assert np.exp([reasons.log_probability, *shares]).sum() == pytest.approx(1)
            assert reasons.place == 1 + sum(share > reasons.log_probability for share in shares)

    def test_none_are_wanted_and_none_are_read(self, ranker: Ranker) -> None:
        assert {each.rivals for each in explain(ranker, *asked(ranker.kb), rivals=0)} == {()}


class TestInputs:
    def test_every_group_that_it_reads_has_an_effect(self, ranker: Ranker) -> None:
        for reasons in explain(ranker, *asked(ranker.kb)):
            assert tuple(reasons.inputs) == GROUPS
            assert all(abs(effect) > 1e-6 for effect in reasons.inputs.values())

    def test_a_group_that_the_network_ignores_has_none(self, ranker: Ranker, wide: WideReranker) -> None:
        columns, model = feature_groups(wide.config, ["rules"]), wide.model
        with torch.no_grad():
            for layer in (model.query_text, model.candidate_text, model.query_vector, model.candidate_vector):
                layer.weight.zero_()
            for group in ("rules", "graph counts"):
                model.features[0].weight[:, columns[group]] = 0
        for reasons in explain(ranker, *asked(ranker.kb)):
            assert [reasons.inputs[group] for group in GROUPS[1:]] == pytest.approx([0] * 4, abs=1e-5)
            assert abs(reasons.inputs["stage 1"]) > 1e-3

    def test_without_all_that_it_says_everybody_has_the_same_share(self, ranker: Ranker, wide: WideReranker) -> None:
        """Stage 1's scores are left out of the fusion too."""
        with torch.no_grad():
            wide.model.head[-1].weight.zero_()  # so that the score is Stage 1's
        for reasons in explain(ranker, *asked(ranker.kb)):
            assert reasons.log_probability - reasons.inputs["stage 1"] == pytest.approx(np.log(1 / 6), abs=1e-5)

    def test_the_mean_of_training_stands_in_for_features(self, ranker: Ranker, wide: WideReranker) -> None:
        queries, _ = asked(ranker.kb)
        lists = ranker.lists(queries, ranker.retrievers.score_block(queries))
        features = wide.features(lists)
        wide.fit_normalizer(features)
        features[..., feature_groups(wide.config, ["rules"])["rules"]] = wide.model.mean.numpy()[3:7]
        by_hand = wide.score(lists, features).detach().numpy()
        np.testing.assert_allclose(wide.rerank_without(lists, "rules"), by_hand, atol=1e-5)

    def test_leaving_a_group_out_changes_nothing_for_others(self, ranker: Ranker, wide: WideReranker) -> None:
        queries, _ = asked(ranker.kb)
        lists = ranker.lists(queries, ranker.retrievers.score_block(queries))
        before = wide.rerank(lists)
        wide.rerank_without(lists, "text vectors")
        assert np.array_equal(wide.rerank(lists), before)

    def test_a_group_that_is_not_there_is_refused(self, ranker: Ranker, wide: WideReranker) -> None:
        queries, _ = asked(ranker.kb)
        lists = ranker.lists(queries, ranker.retrievers.score_block(queries))
        with pytest.raises(UnknownName, match=r"'paths'\. It has: stage 1, rules"):
            wide.rerank_without(lists, "paths")

    @pytest.mark.parametrize("settings", [{}, {"linked": True}, {"graph": False}, {"scores": False}])
    @pytest.mark.parametrize("extra", [[], ["rules"], ["rules", "text"]])
    def test_groups_of_features_share_all_columns(self, settings: dict[str, Any], extra: list[str]) -> None:
        for config in (WideConfig.model_validate(settings | {"extra_scores": on}) for on in (True, False)):
            columns = np.arange(n_features(config, len(extra)))
            groups = feature_groups(config, extra)
            assert np.concatenate([columns[each] for each in groups.values()]).tolist() == columns.tolist()
            assert [name for name in groups if name in extra] == (extra if config.extra_scores else [])


def test_who_can_say_why_is_known_by_what_it_does(ranker: Ranker, stage1: Scorer, wide: WideReranker) -> None:
    assert isinstance(ranker.retrievers.extra["rules"], GivesReasons)
    assert not isinstance(stage1, GivesReasons)
    assert isinstance(wide, GroupsInputs)


def test_order_and_batch_do_not_matter(ranker: Ranker) -> None:
    queries, golds = asked(ranker.kb)
    together, turned = explain(ranker, queries, golds), explain(ranker, queries[::-1], golds[::-1])[::-1]
    alone = [explain(ranker, queries[i : i + 1], golds[i : i + 1])[0] for i in range(len(queries))]
    for one, *others in zip(together, turned, alone, strict=True):
        for other in others:
            assert (one.rules, one.support, one.listed) == (other.rules, other.support, other.listed)
            assert one.inputs == pytest.approx(other.inputs, abs=1e-4)
            effects = [[rival.answer_without for rival in each.rivals] for each in (one, other)]
            assert effects[0] == pytest.approx(effects[1], abs=1e-4)


def test_sentences_have_names_and_no_markup(ranker: Ranker) -> None:
    kb = ranker.kb
    for reasons in explain(ranker, *asked(kb)):
        text = reasons.sentence(kb)
        assert text.endswith(".")
        assert not set(text) & set("⟨⟩<>[]*_`{}")
        assert kb.entities.name(reasons.rivals[0].entity) in text
