"""The paper's re-ranker over several retrievers: its head reads what each of them says, if it is asked to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import Lists, Manifest, Retrievers, make_lists
from cear.core.context import Context
from cear.core.types import Floats
from cear.data import KnowledgeBase
from cear.reranking import SequenceConfig, Upstream
from cear.reranking.features import extra_features, log_probabilities
from cear.retrieval import ComplExConfig, RuleRetriever, RuleSettings, learn_rules

pytestmark = pytest.mark.usefixtures("own_cache")
UPSTREAM = ["rules"]


@pytest.fixture
def lists(towns: KnowledgeBase) -> Lists:
    """Six candidates of some training queries, by a Stage 1 that knows nothing and rules beside it."""
    stage1 = ComplExConfig(rank=4).build(towns, Context(seed=5))
    rules = RuleRetriever(learn_rules(towns.facts("train"), 30, 3, RuleSettings()))
    manifest = Manifest("towns", towns.digest, "train", 6, "keep", "random + rules")
    return make_lists(Retrievers(towns, stage1, {"rules": rules}), towns.known("train").queries[:20], manifest)


@pytest.fixture
def config_of(encoder_of: Callable[..., str]) -> Callable[..., SequenceConfig]:
    def make(**settings: Any) -> SequenceConfig:
        return SequenceConfig.model_validate(
            {"encoder": encoder_of(), "hidden": 8, "text": "name", "features": "scores"} | settings
        )

    return make


def scores(config: SequenceConfig, towns: KnowledgeBase, lists: Lists, *, moved: bool = True) -> Floats:
    """What it makes of lists, before its training or with other weights."""
    reranker = config.build(Upstream(towns, UPSTREAM), Context(seed=1))
    reranker.fit_normalizer(config.features_of(lists, towns))
    if moved:
        torch.manual_seed(3)
        for weight in reranker.model.parameters():
            weight.data += 0.2 * torch.randn(weight.shape)
    return reranker.rerank(lists)


def other_rules(lists: Lists) -> Lists:
    """The same lists, had the rules said something else of the first candidate."""
    extra = lists.extra.copy()
    extra[:, 0] += 7.0
    return replace(lists, extra_scores=extra)


class TestExtraScores:
    def test_each_says_score_log_probability_probability_and_log_rank(self, lists: Lists) -> None:
        (said,) = extra_features(lists, list_inputs=True)
        assert said.shape == (20, 6, 4)
        best = lists.extra[..., 0].argmax(axis=1)
        assert (said[np.arange(20), best, 3] == 0.0).all(), "log1p(0) is the rank of the best"
        np.testing.assert_allclose(np.exp(said[..., 1]), said[..., 2], rtol=1e-5)
        (raw,) = extra_features(lists, list_inputs=False)
        np.testing.assert_array_equal(raw[..., 0], said[..., 0])

    def test_the_head_reads_them_if_asked_to(self, towns: KnowledgeBase, lists: Lists, config_of: Any) -> None:
        for asked in (True, False):
            config = config_of(extra_scores=asked)
            same = np.array_equal(scores(config, towns, lists), scores(config, towns, other_rules(lists)))
            assert same != asked

    def test_untrained_it_is_stage_1(self, towns: KnowledgeBase, lists: Lists, config_of: Any) -> None:
        fresh = scores(config_of(extra_scores=True), towns, lists, moved=False)
        np.testing.assert_allclose(fresh, log_probabilities(lists.candidates), rtol=1e-5)

    def test_it_is_the_same_when_opened_again(
        self, towns: KnowledgeBase, lists: Lists, config_of: Any, tmp_path: Path
    ) -> None:
        config = config_of(extra_scores=True)
        reranker = config.build(Upstream(towns, UPSTREAM), Context(seed=1))
        reranker.fit_normalizer(config.features_of(lists, towns))
        torch.nn.init.normal_(reranker.model.head[-1].weight)
        reranker.save_pretrained(tmp_path)
        opened = config.load(Upstream(towns, UPSTREAM), tmp_path, Context(seed=2))
        np.testing.assert_allclose(opened.rerank(lists), reranker.rerank(lists), rtol=1e-5)

    def test_a_head_without_scores_cannot_have_those_of_others(self) -> None:
        with pytest.raises(ValueError, match="set features: scores"):
            SequenceConfig(extra_scores=True)

    def test_settings_without_it_keep_their_key(self) -> None:
        assert "extra_scores" not in SequenceConfig(features="scores").settings_key()
        assert SequenceConfig(features="scores", extra_scores=True).settings_key()["extra_scores"] is True
