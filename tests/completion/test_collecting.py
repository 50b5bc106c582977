"""Proposals: each fact once, from both its questions; the same however they are asked, killed or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import Retrievers
from cear.completion import (
    PROPOSALS,
    Counts,
    Proposals,
    ask_part,
    collecting,
    fact_keys,
    join_parts,
    judged,
    parts_of,
    read_proposals,
)
from cear.core.context import HERE, Context, Deadline
from cear.core.errors import OutOfTime
from cear.core.types import Queries
from cear.data import KnowledgeBase
from cear.ranking import Ranker
from cear.reranking import Upstream, WideConfig
from cear.retrieval import ComplExConfig, RuleRetriever, RuleSettings, learn_rules

TAIL, HEAD = 0, 1
FINAL, STAGE2, LEAD, FINAL_RANK, STAGE1, LOG_PROBABILITY, STAGE1_RANK, RULES, RULES_RANK = range(9)


@pytest.fixture(scope="module")
def ranker(towns: KnowledgeBase) -> Ranker:
    """ComplEx and a re-ranker that have learned nothing, and rules that have: an order is an order."""
    complex_ = ComplExConfig.model_validate({"rank": 8, "embedding": {"scale": 0.3}}).build(towns, HERE)
    rules = RuleRetriever(learn_rules(towns.facts("train"), towns.n_entities, towns.n_relations, RuleSettings()))
    reranker: Any = WideConfig(text=False, width=16, heads=2).build(Upstream(towns, ["rules"]), HERE)
    with torch.no_grad():
        reranker.model.head[-1].weight.normal_(generator=torch.Generator().manual_seed(0))
    return Ranker(Retrievers(towns, complex_, {"rules": rules}), k=8, reranker=reranker)


@pytest.fixture(scope="module")
def queries(towns: KnowledgeBase) -> Queries:
    return towns.known("train").queries


def proposed(ranker: Ranker, queries: Queries, folder: Path, n: int = 3, context: Context = HERE) -> Proposals:
    parts = parts_of(queries)
    folders = [folder / str(part.start) for part in parts]
    for part, place in zip(parts, folders, strict=True):
        place.mkdir(parents=True, exist_ok=True)
        ask_part(ranker, queries[part], n, place, context)
    join_parts(queries, folders, len(ranker.retrievers.extra), Counts(ranker.kb), folder)
    return read_proposals(folder / PROPOSALS)


@pytest.fixture(scope="module")
def found(ranker: Ranker, queries: Queries, tmp_path_factory: pytest.TempPathFactory) -> Proposals:
    return proposed(ranker, queries, tmp_path_factory.mktemp("found"))


def assert_same(one: Proposals, other: Proposals) -> None:
    assert np.array_equal(one.facts, other.facts)
    assert np.array_equal(one.ranks, other.ranks)
    assert np.array_equal(one.counts, other.counts)
    assert np.allclose(one.views, other.views, atol=1e-5, equal_nan=True)


class TestCollect:
    def test_it_proposes_the_best_new_answers_in_the_order_that_is_measured(
        self, ranker: Ranker, queries: Queries, found: Proposals
    ) -> None:
        kb, ranked = ranker.kb, ranker.rank(queries, 3)
        facts = set()
        for entity, relation, answers in zip(queries.entity, queries.relation, ranked.entities, strict=True):
            for answer in answers.tolist():
                head = relation >= kb.n_relations
                ends = (answer, entity) if head else (entity, answer)
                facts.add((int(ends[0]), int(relation % kb.n_relations), int(ends[1])))
        assert {tuple(fact) for fact in found.facts.tolist()} == facts

    def test_each_once_ascending_and_none_that_is_known(self, towns: KnowledgeBase, found: Proposals) -> None:
        keys = fact_keys(found.facts, towns)
        assert (np.diff(keys) > 0).all()
        assert not np.isin(keys, fact_keys(towns.facts("train"), towns)).any()

    def test_one_view_for_each_question_that_had_it_among_its_best(self, found: Proposals) -> None:
        there = ~np.isnan(found.views).any(axis=2)
        assert np.array_equal(there, found.ranks > 0)
        assert there.any(axis=1).all()
        assert there.all(axis=1).any()
        assert not there[:, TAIL].all()
        assert set(found.ranks.ravel().tolist()) == {0, 1, 2, 3}

    def test_a_view_says_what_the_stages_say(self, ranker: Ranker, queries: Queries, found: Proposals) -> None:
        reading, kb = ranker.read(queries[:1]), ranker.kb
        entities, final = reading.lists.candidates.entities[0], reading.final[0]
        first, second = np.argsort(-final)[:2]
        fact = np.array([[queries.entity[0], queries.relation[0], entities[first]]])
        view = found.views[np.searchsorted(fact_keys(found.facts, kb), fact_keys(fact, kb))[0], TAIL]
        stage1 = reading.lists.candidates.scores[0]
        assert view[FINAL] == pytest.approx(final[first], abs=1e-5)
        assert view[STAGE2] == pytest.approx(reading.stage2[0, first], abs=1e-5)
        assert view[LEAD] == pytest.approx(final[first] - final[second], abs=1e-5)
        assert view[FINAL_RANK] == 0, "the logarithm of 1"
        assert view[STAGE1] == pytest.approx(stage1[first], abs=1e-5)
        assert view[LOG_PROBABILITY] == pytest.approx(stage1[first] - np.log(np.exp(stage1).sum()), abs=1e-4)
        assert view[STAGE1_RANK] == pytest.approx(np.log(1 + first))
        assert view[RULES] == pytest.approx(reading.lists.extra[0, first, 0], abs=1e-5)

    @pytest.mark.parametrize(("part", "rows"), [(7, 1000), (1000, 5), (7, 3)])
    def test_parts_and_blocks_of_any_size_give_the_same(
        self,
        ranker: Ranker,
        queries: Queries,
        found: Proposals,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        part: int,
        rows: int,
    ) -> None:
        monkeypatch.setattr(collecting, "_PART", part)
        monkeypatch.setattr(Retrievers, "block_rows", rows)
        assert_same(proposed(ranker, queries, tmp_path), found)

    def test_questions_in_any_order_give_the_same(
        self, ranker: Ranker, queries: Queries, found: Proposals, tmp_path: Path
    ) -> None:
        order = np.random.default_rng(0).permutation(len(queries))
        assert_same(proposed(ranker, queries[order], tmp_path), found)

    def test_without_time_it_stops_where_it_can_go_on(
        self, ranker: Ranker, queries: Queries, tmp_path: Path, found: Proposals
    ) -> None:
        with pytest.raises(OutOfTime, match="The same command goes on"):
            proposed(ranker, queries, tmp_path, context=replace(HERE, deadline=Deadline(0.0)))
        assert_same(proposed(ranker, queries, tmp_path), found)

    def test_no_question_is_no_proposal(self, ranker: Ranker, queries: Queries, tmp_path: Path) -> None:
        assert len(proposed(ranker, queries[:0], tmp_path)) == 0

    def test_without_a_second_stage_the_first_has_the_last_word(
        self, ranker: Ranker, queries: Queries, tmp_path: Path
    ) -> None:
        views = proposed(replace(ranker, reranker=None), queries, tmp_path).views
        assert np.array_equal(views[..., FINAL], views[..., STAGE1], equal_nan=True)


class TestJudged:
    def test_a_fact_that_was_proposed_both_ways_is_judged_as_it_was_proposed(
        self, ranker: Ranker, found: Proposals
    ) -> None:
        both = found[(found.ranks > 0).all(axis=1)]
        assert_same(judged(ranker, both.facts, Counts(ranker.kb)), both)

    def test_each_once_whatever_their_order(self, ranker: Ranker, found: Proposals) -> None:
        few = found.facts[[5, 2, 2, 9]]
        assert judged(ranker, few, Counts(ranker.kb)).facts.tolist() == found.facts[[2, 5, 9]].tolist()

    def test_any_fact_has_both_views_known_or_absurd(self, ranker: Ranker, towns: KnowledgeBase) -> None:
        train = towns.facts("train")
        absurd = np.array([[29, 0, 3], [0, 0, 0], [7, 2, 28]])
        seen = judged(ranker, np.concatenate([train, absurd]), Counts(towns))
        assert len(seen) == len(train) + 3
        assert np.isfinite(seen.views).all()
        assert (seen.ranks > 0).all()
        assert seen.ranks.max() <= 8

    def test_blocks_of_any_size_give_the_same(
        self, ranker: Ranker, towns: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = judged(ranker, towns.facts("test"), Counts(towns))
        monkeypatch.setattr(Retrievers, "block_rows", 5)
        assert_same(judged(ranker, towns.facts("test"), Counts(towns)), whole)
