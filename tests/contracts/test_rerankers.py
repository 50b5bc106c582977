"""What every re-ranker promises, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import Lists, Manifest, Retrievers, fold_by_pair, hold_out, make_lists
from cear.config import RunConfig
from cear.core.context import Context, Deadline
from cear.core.errors import ConfigError, OutOfTime
from cear.core.types import NO_ENTITY, SPLITS, Candidates, Floats, Split
from cear.data import KnowledgeBase
from cear.reranking import (
    RERANKERS,
    Reranker,
    RerankerConfig,
    Trainable,
    Trained,
    Upstream,
    WideConfig,
    load_reranker,
    train_phases,
)
from cear.retrieval import ComplExConfig, RowsConfig, RuleRetriever, RuleSettings, learn_rules

BOTH: dict[str, Any] = {"epochs": 2, "lists_per_epoch": 12, "checkpoint_seconds": 0.0, "learning_rate": 1e-2}
SMALL: dict[str, dict[str, Any]] = {
    "sequence": {"hidden": 8, "max_tokens": 200, "text": "name", "head_learning_rate": 1e-2},
    "wide": {"width": 8, "heads": 2, "max_tokens": 50},
    "kg_bert": {"form_tokens": 4, "max_tokens": 200},
    "cross_encoder": {"form_tokens": 8, "max_tokens": 400},
}
LAST = {"layers": 1, "candidates": 2, "lists_per_epoch": 8, "max_tokens": 50, "encoder_learning_rate": 1e-3}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "sequence": ("sequence", {}),
    "sequence, ablated": ("sequence", {"attention": "independent", "order": "shuffled", "features": "scores"}),
    "sequence, raw": ("sequence", {"list_inputs": False, "order": "shuffled", "features": "scores"}),
    "sequence, flagged": ("sequence", {"flag_known": True, "features": "scores"}),
    "wide": ("wide", {"linked": True}),
    "wide, ablated": ("wide", {"text": False, "attention": "independent", "extra_scores": False}),
    "wide, raw and flagged": ("wide", {"list_inputs": False, "flag_known": True, "answered": False}),
    "wide, end to end": ("wide", {"vectors": True, "end_to_end": LAST}),
    "kg_bert": ("kg_bert", {}),
    "cross_encoder": ("cross_encoder", {}),
}
PUBLISHED = {"cross_encoder"}  # a fresh one has no weights of its own
SEED = Context(seed=2)


def test_every_kind_is_covered_here() -> None:
    assert {kind for kind, _ in VARIANTS.values()} == {*RERANKERS} == {*SMALL}


@pytest.fixture(scope="module")
def upstream(towns: KnowledgeBase) -> Upstream:
    """Rules beside a Stage 1 that knows nothing, whose vectors may be read."""
    stage1 = ComplExConfig(rank=4, embedding=RowsConfig(scale=0.5)).build(towns, Context(seed=5))
    return Upstream(towns, ["rules"], stage1)


@pytest.fixture(scope="module")
def lists(towns: KnowledgeBase, upstream: Upstream) -> Lists:
    """Six candidates for each training query; every third list loses its last two."""
    stage1: Any = upstream.fold_retriever
    rules = RuleRetriever(learn_rules(towns.facts("train"), 30, 3, RuleSettings()))
    manifest = Manifest("towns", towns.digest, "train", 6, "keep", "random")
    made = make_lists(Retrievers(towns, stage1, {"rules": rules}), towns.known("train").queries, manifest)
    entities, scores, extra = (a.copy() for a in (made.candidates.entities, made.candidates.scores, made.extra))
    entities[::3, -2:], scores[::3, -2:], extra[::3, -2:] = NO_ENTITY, -np.inf, -np.inf
    return Lists(made.queries, Candidates(entities, scores), made.manifest, extra)


@pytest.fixture(scope="module", params=VARIANTS.values(), ids=[*VARIANTS])
def config(
    request: pytest.FixtureRequest, encoder_of: Callable[..., str], cross_encoder_of: Callable[..., str]
) -> RerankerConfig:
    kind, settings = request.param
    encoder = cross_encoder_of() if kind == "cross_encoder" else encoder_of()
    return RERANKERS[kind].model_validate(BOTH | SMALL[kind] | {"encoder": encoder} | settings)


@pytest.fixture(scope="module")
def reranker(config: RerankerConfig, upstream: Upstream, own_cache: None) -> Trainable:
    """One whose weights are no longer those that it started from."""
    del own_cache
    return disturbed(config.build(upstream, SEED))


def disturbed(reranker: Trainable) -> Trainable:
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in reranker.model.parameters():
            weight += 0.2 * torch.randn(weight.shape, generator=generator)
    return reranker


def with_train(kb: KnowledgeBase, **splits: Any) -> KnowledgeBase:
    facts: dict[Split, Any] = {split: kb.facts(split) for split in SPLITS}
    return KnowledgeBase(kb.name, kb.entities, kb.relations, facts | splits)


class TestScores:
    def test_are_there_for_every_candidate_and_minus_infinity_for_every_pad(
        self, reranker: Trainable, lists: Lists
    ) -> None:
        scores, real = reranker.rerank(lists), lists.candidates.entities != NO_ENTITY
        assert scores.shape == real.shape
        assert np.isfinite(scores[real]).all()
        assert np.isneginf(scores[~real]).all()
        assert np.ptp(scores[real]) > 0.01, "they differ at all"

    def test_depend_on_their_own_list_alone(self, reranker: Trainable, lists: Lists) -> None:
        together = reranker.rerank(lists)
        alone = np.concatenate([reranker.rerank(lists[i : i + 1]) for i in range(12)])
        np.testing.assert_allclose(alone, together[:12], atol=1e-5, rtol=1e-5)
        order = np.random.default_rng(0).permutation(len(lists))[:50]
        np.testing.assert_allclose(reranker.rerank(lists[order]), together[order], atol=1e-5, rtol=1e-5)

    def test_of_no_lists_are_none(self, reranker: Trainable, lists: Lists) -> None:
        assert reranker.rerank(lists[:0]).shape == (0, 6)

    def test_are_the_same_again_and_leave_the_model_as_it_was(self, reranker: Trainable, lists: Lists) -> None:
        before = {name: value.clone() for name, value in reranker.model.state_dict().items()}
        first = reranker.rerank(lists)
        assert np.array_equal(reranker.rerank(lists), first)
        after = reranker.model.state_dict()
        assert before.keys() == after.keys()
        assert all(torch.equal(before[name], after[name]) for name in before)
        assert not reranker.model.training

    def test_are_the_same_for_several_threads_at_once(self, reranker: Trainable, lists: Lists) -> None:
        parts = [lists[start : start + 30] for start in (0, 10, 20, 30)] * 2
        expected = [reranker.rerank(part) for part in parts]
        with ThreadPoolExecutor(4) as threads:
            for mine, its in zip(expected, threads.map(reranker.rerank, parts), strict=True):
                np.testing.assert_allclose(its, mine, atol=1e-6)

    def test_are_those_that_it_learns_with(
        self, config: RerankerConfig, reranker: Trainable, lists: Lists, towns: KnowledgeBase
    ) -> None:
        """`score` of the features and `rerank`, which makes them itself, are two ways to one number."""
        features = config.features_of(lists, towns)
        with torch.inference_mode():
            scores = reranker.score(lists, features).numpy()
        real = lists.candidates.entities != NO_ENTITY
        np.testing.assert_allclose(scores[real], reranker.rerank(lists)[real], atol=1e-5, rtol=1e-5)

    def test_know_nothing_of_facts_to_come(
        self, config: RerankerConfig, upstream: Upstream, reranker: Trainable, lists: Lists
    ) -> None:
        poison = np.array([[i, (i + 1) % 3, (7 * i + 3) % 30] for i in range(25)])
        poisoned = with_train(upstream.kb, valid=poison[:12], test=poison[12:])
        other = disturbed(config.build(replace(upstream, kb=poisoned), SEED))
        np.testing.assert_array_equal(other.rerank(lists), reranker.rerank(lists))


class TestFeatures:
    def test_are_those_of_each_list_and_0_for_a_pad(
        self, config: RerankerConfig, lists: Lists, towns: KnowledgeBase
    ) -> None:
        features = config.features_of(lists, towns)
        assert features.shape[:2] == lists.candidates.entities.shape
        assert np.isfinite(features).all()
        assert not features[lists.candidates.entities == NO_ENTITY].any()
        np.testing.assert_array_equal(config.features_of(lists[5:9], towns), features[5:9])

    def test_are_from_the_facts_that_are_seen_and_no_others(
        self, config: RerankerConfig, lists: Lists, towns: KnowledgeBase
    ) -> None:
        """The fold of the lists holds other facts, as do valid and test: what was seen stays the same."""
        facts = towns.facts("train").copy()
        fold_of = fold_by_pair(facts, 4, seed=0)
        held = fold_of == 0
        facts[held, 1] = (facts[held, 1] + 1) % 3  # another relation keeps the pair, and so the fold
        poisoned = with_train(towns, train=facts, valid=towns.facts("test"), test=towns.facts("valid"))
        clean, other = (config.features_of(lists, hold_out(kb, fold_of, 0)[0]) for kb in (towns, poisoned))
        assert held.any()
        np.testing.assert_array_equal(clean, other)


class TestFeaturesOfTheWideOne:
    def test_change_with_the_facts_that_are_seen(self, lists: Lists, towns: KnowledgeBase) -> None:
        """So that the test above is able to fail."""
        fewer = with_train(towns, train=towns.facts("train")[::2])
        assert not np.array_equal(WideConfig().features_of(lists, towns), WideConfig().features_of(lists, fewer))

    def test_say_what_the_extra_retrievers_say_in_these_lists(self, lists: Lists, towns: KnowledgeBase) -> None:
        real = lists.candidates.entities != NO_ENTITY
        said = np.where(real[..., None], np.random.default_rng(0).normal(size=lists.extra.shape), -np.inf)
        features = WideConfig(graph=False).features_of(replace(lists, extra_scores=said), towns)
        raw, log_p, p, log_rank = np.moveaxis(features[..., 3:], -1, 0)
        np.testing.assert_allclose(raw[real], said[..., 0][real], rtol=1e-6)
        shares = np.exp(said[..., 0]) / np.exp(said[..., 0]).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(p[real], shares[real], rtol=1e-5)
        np.testing.assert_allclose(np.exp(log_p[real]), shares[real], rtol=1e-5)
        higher = (said[..., 0][:, None, :] > said[..., 0][:, :, None]).sum(axis=2)
        np.testing.assert_allclose(log_rank[real], np.log1p(higher)[real], rtol=1e-6)


class TestSaving:
    def test_it_comes_back_the_same(
        self, config: RerankerConfig, upstream: Upstream, reranker: Trainable, lists: Lists, tmp_path: Path
    ) -> None:
        reranker.save_pretrained(tmp_path)
        scores = reranker.rerank(lists)
        for again in (config.load(upstream, tmp_path, SEED), load_reranker(tmp_path, upstream)):
            np.testing.assert_allclose(again.rerank(lists), scores, atol=1e-6)
        assert not [*tmp_path.rglob("*.bin"), *tmp_path.rglob("*.pt")], "weights are safetensors"

    def test_8_bits_are_had_or_refused_with_a_way_out(
        self, config: RerankerConfig, upstream: Upstream, reranker: Trainable, lists: Lists, tmp_path: Path
    ) -> None:
        reranker.save_pretrained(tmp_path)
        if type(config).load_int8 is RerankerConfig.load_int8:
            with pytest.raises(ConfigError, match=f"this is `kind: {config.kind}`. Leave it out"):
                config.load_int8(upstream, tmp_path, SEED)
            return
        if config.model_dump().get("flag_known"):
            with pytest.raises(ConfigError, match=r"known answers marked by token types. Leave it out"):
                config.load_int8(upstream, tmp_path, SEED)
            return
        pytest.importorskip("onnxruntime")
        scores = config.load_int8(upstream, tmp_path, SEED).rerank(lists)
        assert np.array_equal(np.isfinite(scores), lists.candidates.entities != NO_ENTITY)


def train(
    config: RerankerConfig, upstream: Upstream, lists: Lists, folder: Path, context: Context = SEED, **other: Any
) -> Trained:
    """A training of the lists; validation likes high scores of some of them, unless it is told otherwise."""
    few, facts = lists[:4], upstream.kb.facts("train")
    features = config.features_of(lists, hold_out(upstream.kb, fold_by_pair(facts, 2, seed=0), 0)[0])
    validate = other.get("validate", lambda reranker: float(np.tanh(reranker.rerank(few)).mean()))
    fresh = config.build(upstream, context)
    return train_phases(fresh, lists, features, upstream.kb, folder, validate=validate, context=context)


def weights(reranker: Reranker) -> dict[str, torch.Tensor]:
    model: Any = getattr(reranker, "model")  # noqa: B009 - what is trained has one
    return dict(model.state_dict())


@pytest.mark.usefixtures("own_cache")
class TestTraining:
    def test_interrupted_after_every_step_it_ends_with_the_same_weights(
        self, config: RerankerConfig, upstream: Upstream, lists: Lists, tmp_path: Path
    ) -> None:
        whole = train(config, upstream, lists, tmp_path / "whole")
        cut, stops = None, 0
        while cut is None:
            try:
                cut = train(config, upstream, lists, tmp_path / "cut", replace(SEED, deadline=Deadline(at=0)))
            except OutOfTime:
                stops += 1
        assert stops >= 2 * len(whole.phases)
        assert whole.best == cut.best
        one, other = weights(whole.reranker), weights(cut.reranker)
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)

    @pytest.mark.parametrize("rising", [True, False])
    def test_what_was_best_on_validation_is_kept_whichever_phase_it_was_in(
        self, config: RerankerConfig, upstream: Upstream, lists: Lists, tmp_path: Path, rising: bool
    ) -> None:
        seen: list[Floats] = []

        def validate(reranker: Reranker) -> float:
            seen.append(reranker.rerank(lists[:9]))
            return float(len(seen) if rising else -len(seen))

        trained = train(config, upstream, lists, tmp_path, validate=validate)
        assert trained.best == [*trained.phases][-1 if rising else 0]
        assert len(seen) > 1
        np.testing.assert_allclose(trained.reranker.rerank(lists[:9]), seen[-1 if rising else 0], atol=1e-6)
        assert not np.allclose(seen[0], seen[-1])

    def test_weight_decay_shrinks_weights(
        self, config: RerankerConfig, upstream: Upstream, lists: Lists, tmp_path: Path
    ) -> None:
        none, much = (
            weights(train(config.model_copy(update={"weight_decay": decay}), upstream, lists, tmp_path / name).reranker)
            for name, decay in (("none", 0.0), ("much", 5.0))
        )
        matrices = [name for name, weight in none.items() if weight.ndim == 2 and name.endswith("weight")]
        norms = [sum(float(each[name].square().sum()) for name in matrices) for each in (none, much)]
        assert norms[1] < norms[0]

    def test_every_weight_that_learns_is_in_one_group(self, reranker: Trainable) -> None:
        grouped = [id(weight) for group in reranker.parameter_groups() for weight in group["params"]]
        learning = {id(weight) for weight in reranker.model.parameters() if weight.requires_grad}
        assert len(grouped) == len(set(grouped))
        assert set(grouped) == learning
        assert all(group["lr"] > 0 for group in reranker.parameter_groups())

    def test_a_fresh_one_is_a_function_of_the_seed(self, config: RerankerConfig, upstream: Upstream) -> None:
        one, again, other = (weights(config.build(upstream, Context(seed=seed))) for seed in (1, 1, 2))
        assert all(torch.equal(one[name], again[name]) for name in one)
        assert all(torch.equal(one[name], other[name]) for name in one) == (config.kind in PUBLISHED)

    def test_every_list_has_a_length_and_may_be_shortened(self, reranker: Trainable, lists: Lists) -> None:
        lengths, shortened = reranker.lengths(lists), reranker.shortened(lists)
        assert lengths.shape == shortened.shape == (len(lists),)
        assert (lengths > 0).all()
        assert shortened.dtype == bool


@pytest.mark.parametrize("kind", RERANKERS)
class TestSettings:
    def test_keys_that_only_other_kinds_have_are_refused(self, kind: str) -> None:
        own, others = {*RERANKERS[kind].model_fields}, [RERANKERS[name]() for name in RERANKERS if name != kind]
        for other in others:
            for key, value in other.model_dump(exclude=own).items():
                with pytest.raises(ConfigError, match=rf"reranker\.{key}: no such setting"):
                    RunConfig.parse({"reranker": {"kind": kind, key: value}}, source="here")

    def test_keys_of_earlier_versions_say_what_they_are_called_now(self, kind: str) -> None:
        for old, new in RERANKERS[kind].renamed.items():
            with pytest.raises(ConfigError, match=rf"reranker\.{old} is called otherwise now: {new}"):
                RunConfig.parse({"reranker": {"kind": kind, old: 3}}, source="here")

    def test_how_often_a_checkpoint_is_written_decides_no_result(self, kind: str) -> None:
        often, seldom = (RERANKERS[kind].model_validate({"checkpoint_seconds": seconds}) for seconds in (0, 9))
        assert often.settings_key() == seldom.settings_key()
        other = RERANKERS[kind].model_validate({"weight_decay": 0.5, "seed": 7})
        assert other.settings_key() != often.settings_key()

    def test_a_setting_that_came_later_is_in_no_key_before_it_is_used(self, kind: str) -> None:
        """So that what was kept before there was the setting is still found."""
        config = RERANKERS[kind].model_validate({"order": "shuffled"} if kind == "sequence" else {})
        for name in config.added_later:
            used = config.model_copy(update={name: not getattr(config, name)})
            assert name not in config.settings_key()
            assert name not in config.feature_settings
            assert used.settings_key() == config.settings_key() | {name: getattr(used, name)}
            unseen = (
                "precision",
                "align_inputs",
            )  # features are the same in any precision, and aligned after they are made
            told = {} if name in unseen else {name: getattr(used, name)}
            assert used.feature_settings == config.feature_settings | told
