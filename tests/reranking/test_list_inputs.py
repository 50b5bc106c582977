"""What a candidate's score knows of the other candidates: by attention, by inputs normalised over the list, or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import Lists, Manifest, Retrievers, make_lists
from cear.config import RunConfig
from cear.core.context import Context
from cear.core.errors import ConfigError
from cear.core.types import NO_ENTITY, Candidates
from cear.data import KnowledgeBase
from cear.reranking import RERANKERS, Trainable, Upstream, WideConfig
from cear.retrieval import ComplExConfig, RowsConfig, RuleRetriever, RuleSettings, learn_rules

pytestmark = pytest.mark.usefixtures("own_cache")

SMALL: dict[str, dict[str, Any]] = {
    "sequence": {"hidden": 8, "text": "name", "features": "scores", "order": "shuffled"},
    "wide": {"width": 8, "heads": 2},
}

Make = Callable[..., Trainable]


@pytest.fixture
def lists(towns: KnowledgeBase) -> Lists:
    """Six candidates of some training queries, by a Stage 1 that knows nothing and rules beside it."""
    stage1 = ComplExConfig(rank=4, embedding=RowsConfig(scale=0.5)).build(towns, Context(seed=5))
    rules = RuleRetriever(learn_rules(towns.facts("train"), 30, 3, RuleSettings()))
    manifest = Manifest("towns", towns.digest, "train", 6, "keep", "random + rules")
    return make_lists(Retrievers(towns, stage1, {"rules": rules}), towns.known("train").queries[:20], manifest)


@pytest.fixture
def reranker_of(towns: KnowledgeBase, encoder_of: Callable[..., str]) -> Make:
    """A re-ranker of the towns whose weights are no longer those that it started from."""

    def make(kind: str, **settings: Any) -> Trainable:
        config = RERANKERS[kind].model_validate({"encoder": encoder_of()} | SMALL[kind] | settings)
        reranker = config.build(Upstream(towns, ["rules"]), Context(seed=1))
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for weight in reranker.model.parameters():
                weight += 0.2 * torch.randn(weight.shape, generator=generator)
        return reranker

    return make


def with_another(lists: Lists, place: int) -> Lists:
    """The same lists with another entity, and other scores of it, in one place."""
    entities, scores, extra = lists.candidates.entities.copy(), lists.candidates.scores.copy(), lists.extra.copy()
    entities[:, place] = (entities[:, place] + 11) % 30
    scores[:, place] += 1.5
    extra[:, place] += 0.5
    return Lists(lists.queries, Candidates(entities, scores), lists.manifest, extra)


def largest_change(reranker: Trainable, lists: Lists) -> float:
    """How much a score changes at most when another candidate of the list, in whatever place, is replaced."""
    before, changes = reranker.rerank(lists), []
    for place in range(6):
        after = reranker.rerank(with_another(lists, place))
        changes.append(np.abs(np.delete(after - before, place, axis=1)).max())
    return float(max(changes))


@pytest.mark.parametrize("kind", SMALL)
class TestTheOtherCandidates:
    def test_have_no_part_in_a_score_without_attention_and_list_inputs(
        self, reranker_of: Make, lists: Lists, kind: str
    ) -> None:
        alone = reranker_of(kind, attention="independent", list_inputs=False, flag_known=True)
        assert largest_change(alone, lists) < 1e-5

    @pytest.mark.parametrize(
        "settings",
        [{"attention": "independent"}, {"attention": "cross", "list_inputs": False}, {"attention": "cross"}],
        ids=["list inputs", "attention", "both"],
    )
    def test_have_a_part_in_it_with_either(
        self, reranker_of: Make, lists: Lists, kind: str, settings: dict[str, Any]
    ) -> None:
        assert largest_change(reranker_of(kind, **settings), lists) > 1e-2


@pytest.mark.parametrize("kind", SMALL)
def test_with_raw_scores_an_untrained_re_ranker_is_stage_1(
    towns: KnowledgeBase, encoder_of: Callable[..., str], lists: Lists, kind: str
) -> None:
    config = RERANKERS[kind].model_validate({"encoder": encoder_of(), "list_inputs": False} | SMALL[kind])
    fresh = config.build(Upstream(towns, ["rules"]), Context())
    fresh.fit_normalizer(config.features_of(lists, towns))
    np.testing.assert_allclose(fresh.rerank(lists), lists.candidates.scores, rtol=1e-6)


@pytest.mark.parametrize("kind", SMALL)
def test_the_scale_of_raw_scores_is_taken_from_the_lists_to_learn_from(
    towns: KnowledgeBase, reranker_of: Make, lists: Lists, kind: str
) -> None:
    """Ten times the scores, read on their own scale, change what the score starts from and nothing else."""
    louder = Lists(
        lists.queries,
        Candidates(lists.candidates.entities, 10 * lists.candidates.scores),
        lists.manifest,
        lists.extra,
    )
    heads = []
    for some in (lists, louder):
        reranker = reranker_of(kind, list_inputs=False, attention="independent")
        reranker.fit_normalizer(reranker.config.features_of(some, towns))
        scale: Any = reranker.model.scale
        heads.append(reranker.rerank(some) - scale.item() * some.candidates.scores)
    np.testing.assert_allclose(heads[0], heads[1], atol=1e-4)


class TestFeatures:
    def test_of_the_wide_one_are_the_scores_as_they_are(self, lists: Lists, towns: KnowledgeBase) -> None:
        features = WideConfig(list_inputs=False, graph=False).features_of(lists, towns)
        expected = np.concatenate([lists.candidates.scores[..., None], lists.extra], axis=-1)
        np.testing.assert_allclose(features, expected, rtol=1e-6)

    def test_of_the_wide_one_without_what_a_candidate_answers(self, lists: Lists, towns: KnowledgeBase) -> None:
        """Eight counts lose the second and the third."""
        whole, without = (
            WideConfig(answered=answered, scores=False, extra_scores=False).features_of(lists, towns)[..., 1:]
            for answered in (True, False)
        )
        np.testing.assert_array_equal(without, whole[..., [0, 3, 4, 5, 6, 7]])
        assert whole[..., 1].any()

    def test_of_the_graph_do_not_depend_on_the_other_candidates(self, lists: Lists, towns: KnowledgeBase) -> None:
        config = WideConfig(scores=False, extra_scores=False, linked=True)
        here, there = (config.features_of(each, towns)[..., 1:] for each in (lists, with_another(lists, 2)))
        same = np.arange(6) != 2
        np.testing.assert_array_equal(here[:, same], there[:, same])
        assert not np.array_equal(here[:, 2], there[:, 2])

    def test_of_padded_places_are_0(self, lists: Lists, towns: KnowledgeBase) -> None:
        entities, scores = lists.candidates.entities.copy(), lists.candidates.scores.copy()
        entities[:, 4:], scores[:, 4:] = NO_ENTITY, -np.inf
        padded = Lists(lists.queries, Candidates(entities, scores), lists.manifest)
        for kind in SMALL:
            config = RERANKERS[kind].model_validate({"list_inputs": False, "flag_known": True} | SMALL[kind])
            assert not config.features_of(padded, towns)[:, 4:].any()


def test_a_place_in_a_sequence_is_a_rank_and_refused_without_list_inputs() -> None:
    values = {"reranker": {"kind": "sequence", "list_inputs": False}}
    with pytest.raises(ConfigError, match=r"its place in the sequence would show it; set order: shuffled"):
        RunConfig.parse(values, source="here")
    for way_out in ({"order": "shuffled"}, {"attention": "independent"}):
        assert RunConfig.parse({"reranker": values["reranker"] | way_out}, source="here").reranker is not None
