"""Cross-fitting: the Stage 1 that makes a fold's lists has never seen the fold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cear.candidates import CandidatesConfig, CrossfitConfig, Lists, crossfit_folds, fold_by_pair, hold_out, joined
from cear.candidates.crossfit import folds_of
from cear.core.errors import ConfigError, OutOfTime
from cear.core.types import SPLITS, Ints, Ragged, Split
from cear.data import KnowledgeBase, Mentions
from cear.evaluation import evaluate
from cear.retrieval import Scorer, Stage1Config, build_scorer, top_k
from cear.training import Deadline, load_weights

STAGE1 = Stage1Config(rank=4, batch=20, epochs=2, validate_every=1)
LISTS = CandidatesConfig(k=5)

facts_of = arrays(np.int64, st.tuples(st.integers(1, 40), st.just(3)), elements=st.integers(0, 5))


def with_splits(kb: KnowledgeBase, **splits: Any) -> KnowledgeBase:
    facts: dict[Split, Any] = {split: kb.facts(split) for split in SPLITS}
    return KnowledgeBase(kb.name, kb.entities, kb.relations, facts | splits)


def valid_mrr(kb: KnowledgeBase) -> Any:
    return lambda scorer: evaluate(scorer, kb, "valid").summary()["both"]["mrr"]


def crossfit(kb: KnowledgeBase, folder: Path, *, folds: int = 4, use: int = 1, **other: Any) -> Lists:
    plan = CrossfitConfig(folds=folds, use=use)
    folds = crossfit_folds(kb, STAGE1, LISTS, plan, folder, validate_on=valid_mrr, seed=3, **other)
    return joined([fold.lists for fold in folds])


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


class TestTheLists:
    def test_are_what_the_fold_asks_answered_by_who_has_not_seen_it(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        made = crossfit(towns, tmp_path)
        rest, held_out = hold_out(towns, fold_by_pair(towns.facts("train"), 4, seed=3), 0)
        queries = held_out.known("train").queries
        assert np.array_equal(made.queries.entity, queries.entity)
        assert np.array_equal(made.queries.relation, queries.relation)
        scorer: Scorer = build_scorer(STAGE1, 30, 3, seed=3)
        scorer.load_state_dict(load_weights(tmp_path / "fold0"))
        expected = top_k(scorer, queries, 5, drop=rest.known("train"))
        assert np.array_equal(made.candidates.entities, expected.entities)
        assert made.manifest.digest == towns.digest, "they belong to the whole knowledge base"
        assert (made.manifest.model, made.manifest.known) == ("complex, without fold 0 of 4", "drop")

    def test_of_several_folds_stand_one_after_the_other(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        one, two = crossfit(towns, tmp_path / "one"), crossfit(towns, tmp_path / "two", use=2)
        assert np.array_equal(two.candidates.entities[: len(one)], one.candidates.entities)
        assert len(two) > len(one)
        assert sorted(path.name for path in (tmp_path / "two").iterdir()) == ["fold0", "fold1"]

    def test_a_fold_may_train_for_fewer_epochs(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        plan = CrossfitConfig(folds=4, epochs=1)
        crossfit_folds(towns, STAGE1, LISTS, plan, tmp_path, validate_on=valid_mrr, seed=3)
        one = Stage1Config.model_validate(STAGE1.model_dump() | {"epochs": 1})
        again = CrossfitConfig(folds=4)
        crossfit_folds(towns, one, LISTS, again, tmp_path, validate_on=valid_mrr, seed=3)  # the same training

    def test_may_be_those_of_a_sample_of_the_queries(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        whole = crossfit(towns, tmp_path / "whole")
        for n in (4, 6, 4):  # in one folder: lists of another sample are made again
            few = LISTS.model_copy(update={"queries": n})
            plan = CrossfitConfig(folds=4)
            (fold,) = crossfit_folds(towns, STAGE1, few, plan, tmp_path / "few", validate_on=valid_mrr, seed=3)
            asked = list(zip(whole.queries.entity, whole.queries.relation, strict=True))
            sample = list(zip(fold.lists.queries.entity, fold.lists.queries.relation, strict=True))
            places = [asked.index(query) for query in sample]
            assert len(places) == n < len(asked)
            assert places == sorted(set(places))
            assert np.array_equal(fold.lists.candidates.entities, whole.candidates.entities[places])

    def test_out_of_time_they_go_on_where_they_were(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        whole = crossfit(towns, tmp_path / "whole", use=2)
        stops = 0
        while True:
            try:
                made = crossfit(towns, tmp_path / "cut", use=2, deadline=Deadline(at=0))
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

    def test_in_the_fold_changes_no_weight_of_its_stage_1(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        other = self.poisoned(towns, inside=True)
        made = {kb.digest: crossfit(kb, tmp_path / kb.digest) for kb in (towns, other)}
        assert len(made) == 2, "the poison must be there"
        weights = [(tmp_path / digest / "fold0" / "best.safetensors").read_bytes() for digest in made]
        assert weights[0] == weights[1]

    def test_outside_the_fold_does_change_them(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        """So that the test above is able to fail."""
        other = self.poisoned(towns, inside=False)
        for kb in (towns, other):
            crossfit(kb, tmp_path / kb.digest)
        weights = [(tmp_path / kb.digest / "fold0" / "best.safetensors").read_bytes() for kb in (towns, other)]
        assert weights[0] != weights[1]


class TestSettings:
    def test_no_more_folds_are_held_out_than_there_are(self) -> None:
        with pytest.raises(ConfigError, match="use: 5 of 4 folds cannot be held out"):
            CrossfitConfig.parse({"folds": 4, "use": 5}, source="here")

    def test_without_crossfit_dropping_what_is_known_leaves_nothing_to_learn(self) -> None:
        with pytest.raises(ConfigError, match="set known: keep, or crossfit"):
            CandidatesConfig.parse({"crossfit": None, "known": "drop"}, source="here")
        assert CandidatesConfig.parse({"crossfit": None, "known": "keep"}, source="here").crossfit is None
