"""Cross-fitting: the Stage 1 that makes a fold's lists has never seen the fold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cear.candidates import CandidatesConfig, CrossfitConfig, Lists, fold_by_pair, folds_of, hold_out
from cear.config import RunConfig
from cear.core.context import Context, Deadline
from cear.core.errors import ConfigError, OutOfTime
from cear.core.types import SPLITS, Ints, Ragged, Split
from cear.data import KnowledgeBase, Mentions, Types
from cear.pipeline import Plan
from cear.pipeline.making import lists_to_learn_from
from cear.retrieval import top_k
from cear.steps import Store

STAGE1 = {"model": "complex", "rank": 4, "batch": 20, "epochs": 2, "validate_every": 1}

facts_of = arrays(np.int64, st.tuples(st.integers(1, 40), st.just(3)), elements=st.integers(0, 5))


def with_splits(kb: KnowledgeBase, **splits: Any) -> KnowledgeBase:
    facts: dict[Split, Any] = {split: kb.facts(split) for split in SPLITS}
    return KnowledgeBase(kb.name, kb.entities, kb.relations, facts | splits)


def plan_of(
    kb: KnowledgeBase, folder: Path, *, stage1: Any = STAGE1, deadline: Deadline | None = None, **candidates: Any
) -> Plan:
    """The steps that make training lists of 5 candidates, by four folds of which one is held out."""
    made = {"k": 5} | candidates
    made["crossfit"] = {"folds": 4} | made.get("crossfit", {})
    context = Context(seed=3) if deadline is None else Context(seed=3, deadline=deadline)
    config = RunConfig.model_validate({"stage1": stage1, "candidates": made, "reranker": {"kind": "sequence"}})
    return Plan(config, kb, Store(folder, context=context), context)


def crossfit(kb: KnowledgeBase, folder: Path, **other: Any) -> Lists:
    return lists_to_learn_from(plan_of(kb, folder, **other))


class TestFolds:
    @given(facts_of, st.integers(2, 6), st.integers(0, 3))
    def test_no_pair_of_entities_is_in_two_folds_whichever_way_round(self, facts: Ints, folds: int, seed: int) -> None:
        fold_of = fold_by_pair(facts, folds, seed=seed)
        assert fold_of.shape == (len(facts),)
        assert ((fold_of >= 0) & (fold_of < folds)).all()
        seen: dict[frozenset[int], set[int]] = {}
        for (s, _, o), fold in zip(facts.tolist(), fold_of.tolist(), strict=True):
            seen.setdefault(frozenset((s, o)), set()).add(fold)
        assert all(len(places) == 1 for places in seen.values())

    @given(facts_of, st.integers(2, 6))
    def test_they_have_equally_many_pairs(self, facts: Ints, folds: int) -> None:
        fold_of = fold_by_pair(facts, folds, seed=0)
        pairs = {(frozenset((s, o)), f) for (s, _, o), f in zip(facts.tolist(), fold_of.tolist(), strict=True)}
        counts = np.bincount([fold for _, fold in pairs], minlength=folds)
        assert counts.max() - counts.min() <= 1

    def test_they_are_a_function_of_the_seed(self, towns: KnowledgeBase) -> None:
        facts = towns.facts("train")
        first, again, other = (fold_by_pair(facts, 4, seed=seed) for seed in (1, 1, 2))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)

    def test_no_facts_have_no_folds(self) -> None:
        assert fold_by_pair(np.zeros((0, 3), np.int64), 3, seed=0).shape == (0,)

    def test_by_fact_every_fact_is_dealt_alone_and_folds_are_equally_large(self, towns: KnowledgeBase) -> None:
        facts = np.concatenate([towns.facts("train"), towns.facts("train")[:, [2, 1, 0]]])  # each pair twice
        by_fact = folds_of(facts, CrossfitConfig(folds=4, by="fact"), seed=1)
        by_pair = folds_of(facts, CrossfitConfig(folds=4), seed=1)
        half = len(facts) // 2
        assert np.array_equal(by_pair[:half], by_pair[half:])
        assert not np.array_equal(by_fact[:half], by_fact[half:])
        assert np.ptp(np.bincount(by_fact, minlength=4)) <= 1


class TestHoldingOut:
    @pytest.mark.parametrize("fold", range(4))
    def test_a_fact_is_either_trained_on_or_asked_for(self, towns: KnowledgeBase, fold: int) -> None:
        fold_of = fold_by_pair(towns.facts("train"), 4, seed=0)
        rest, held_out = hold_out(towns, fold_of, fold)
        mine, its = ({tuple(fact) for fact in kb.facts("train").tolist()} for kb in (rest, held_out))
        assert mine | its == {tuple(fact) for fact in towns.facts("train").tolist()}
        assert not mine & its
        assert mine
        assert its

    def test_test_facts_are_nowhere(self, towns: KnowledgeBase) -> None:
        rest, held_out = hold_out(towns, fold_by_pair(towns.facts("train"), 4, seed=0), 0)
        assert [len(kb.facts("test")) for kb in (rest, held_out)] == [0, 0]
        assert np.array_equal(rest.facts("valid"), towns.facts("valid"))
        assert not len(held_out.facts("valid"))

    def test_mentions_of_what_is_left_stay_for_validation(self, towns: KnowledgeBase) -> None:
        train, valid = towns.facts("train"), towns.facts("valid")
        ends: Any = {"train": train[:, [0, 2]], "valid": valid[:, [0, 2]], "test": towns.facts("test")[:, [0, 2]]}
        alone = Mentions(Ragged.singles(np.arange(30)), ends)
        splits: Any = {split: towns.facts(split) for split in SPLITS}
        kb = KnowledgeBase("open", towns.entities, towns.relations, splits, alone)
        rest, held_out = hold_out(kb, fold_by_pair(train, 4, seed=0), 0)
        assert rest.mentions is not None
        assert sorted(rest.mentions.ends) == ["train", "valid"]
        assert np.array_equal(rest.mentions.ends["train"], rest.facts("train")[:, [0, 2]])
        assert held_out.mentions is None

    def test_types_stay(self, towns: KnowledgeBase) -> None:
        of_entity = Ragged.of([[0] if entity % 3 else [0, 1] for entity in range(towns.n_entities)])
        kb = towns.with_types(Types(("place", "capital"), of_entity))
        for part in hold_out(kb, fold_by_pair(towns.facts("train"), 4, seed=0), 0):
            assert part.types is not None
            assert [part.types.of(entity) for entity in (0, 1)] == [("place", "capital"), ("place",)]


class TestTheLists:
    def test_are_what_the_fold_asks_answered_by_who_has_not_seen_it(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        plan = plan_of(towns, tmp_path)
        made = lists_to_learn_from(plan)
        rest, held_out = hold_out(towns, fold_by_pair(towns.facts("train"), 4, seed=3), 0)
        queries = held_out.known("train").queries
        assert np.array_equal(made.queries.entity, queries.entity)
        assert np.array_equal(made.queries.relation, queries.relation)
        scorer = plan.load_retrievers(plan.folds[0], plan.fold_retrievers[0]).first
        expected = top_k(scorer, queries, 5, drop=rest.known("train"))
        assert np.array_equal(made.candidates.entities, expected.entities)
        assert made.manifest.digest == towns.digest, "they belong to the whole knowledge base"
        assert (made.manifest.model, made.manifest.known) == ("complex", "drop")

    def test_of_several_folds_stand_one_after_the_other(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        one, two = crossfit(towns, tmp_path), crossfit(towns, tmp_path, crossfit={"held_out_folds": 2})
        assert np.array_equal(two.candidates.entities[: len(one)], one.candidates.entities)
        assert len(two) > len(one)

    def test_a_fold_may_train_for_fewer_epochs(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        shorter = plan_of(towns, tmp_path, crossfit={"epochs": 1})
        all_short = plan_of(towns, tmp_path, stage1=STAGE1 | {"epochs": 1})
        one, other, longer = (
            plan.fold_retrievers[0]["stage1"].key for plan in (shorter, all_short, plan_of(towns, tmp_path))
        )
        assert one == other, "the same training"
        assert one != longer

    def test_may_be_those_of_a_sample_of_the_queries(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        whole = crossfit(towns, tmp_path)
        for n in (4, 6, 4):  # in one folder: lists of another sample are made again
            few = crossfit(towns, tmp_path, queries=n)
            asked = list(zip(whole.queries.entity, whole.queries.relation, strict=True))
            sample = list(zip(few.queries.entity, few.queries.relation, strict=True))
            places = [asked.index(query) for query in sample]
            assert len(places) == n < len(asked)
            assert places == sorted(set(places))
            assert np.array_equal(few.candidates.entities, whole.candidates.entities[places])

    def test_out_of_time_they_go_on_where_they_were(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        two = {"held_out_folds": 2}
        whole = crossfit(towns, tmp_path / "whole", crossfit=two)
        stops = 0
        while True:
            try:
                made = crossfit(towns, tmp_path / "cut", crossfit=two, deadline=Deadline(at=0))
                break
            except OutOfTime:
                stops += 1
        assert stops > 4, "a step at a time, in both folds"
        assert np.array_equal(made.candidates.entities, whole.candidates.entities)
        assert np.array_equal(made.candidates.scores, whole.candidates.scores)


class TestPoison:
    """Other relations on the same pairs keep every fact in its fold."""

    @staticmethod
    def poisoned(kb: KnowledgeBase, *, inside: bool) -> KnowledgeBase:
        facts = kb.facts("train").copy()
        fold = fold_by_pair(facts, 4, seed=3) == 0
        where = fold if inside else ~fold
        facts[where, 1] = (facts[where, 1] + 1) % 3
        return with_splits(kb, train=facts)

    @staticmethod
    def weights(kb: KnowledgeBase, folder: Path) -> bytes:
        """Those of the Stage 1 that has not seen the first fold."""
        plan = plan_of(kb, folder)
        return (plan.store.get(plan.fold_retrievers[0]["stage1"]) / "best.safetensors").read_bytes()

    @pytest.mark.parametrize("inside", [True, False])
    def test_in_the_fold_changes_no_weight_of_its_stage_1_and_outside_it_does(
        self, towns: KnowledgeBase, tmp_path: Path, inside: bool
    ) -> None:
        other = self.poisoned(towns, inside=inside)
        assert other.digest != towns.digest, "the poison must be there"
        assert (self.weights(towns, tmp_path) == self.weights(other, tmp_path)) == inside


class TestSettings:
    def test_no_more_folds_are_held_out_than_there_are(self) -> None:
        with pytest.raises(ConfigError, match="held_out_folds: 5 of 4 folds cannot be held out"):
            CrossfitConfig.parse({"folds": 4, "held_out_folds": 5}, source="here")

    def test_without_crossfit_dropping_what_is_known_leaves_nothing_to_learn(self) -> None:
        with pytest.raises(ConfigError, match="set known: keep, or crossfit"):
            CandidatesConfig.parse({"crossfit": None, "known": "drop"}, source="here")
        assert CandidatesConfig.parse({"crossfit": None, "known": "keep"}, source="here").crossfit is None

    @pytest.mark.parametrize(
        ("lists", "crossfit", "held_out"), [(None, {}, True), (None, None, False), ("mine", {}, False)]
    )
    def test_lists_are_held_out_when_a_fold_of_ours_makes_them(self, lists: Any, crossfit: Any, held_out: bool) -> None:
        values = {"lists": lists, "crossfit": crossfit, "known": "keep"}
        assert CandidatesConfig.parse(values, source="here").held_out == held_out

    @pytest.mark.parametrize(
        ("group", "old", "new"),
        [(CrossfitConfig, "use", "held_out_folds"), (CandidatesConfig, "also", "extra_retrievers")],
    )
    def test_earlier_names_say_what_they_are_called_now(self, group: Any, old: str, new: str) -> None:
        with pytest.raises(ConfigError, match=f"{old} is called otherwise now: {new}"):
            group.parse({old: 1}, source="here")

    def test_stage_1_is_no_name_of_an_extra_retriever(self) -> None:
        with pytest.raises(ConfigError, match="take another name"):
            CandidatesConfig.parse({"extra_retrievers": {"stage1": {"model": "rules"}}}, source="here")
