"""What is served is what is measured: `rank` and `ask` put the gold where the evaluation has it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import Retrievers
from cear.config import load_config
from cear.core.blocks import blocks
from cear.core.context import HERE
from cear.core.types import NO_ENTITY, SPLITS, Floats, Queries, Ragged, RankedLists
from cear.data import KnowledgeBase, load
from cear.evaluation import Asked, Evaluation, sample_facts
from cear.pipeline import Run, run
from cear.ranking import Ranker, evaluate_ranker
from cear.reranking import Upstream, WideConfig
from cear.retrieval import ComplExConfig, RuleRetriever, RuleSettings, learn_rules

QUICK = (
    "stage1.epochs=4",
    "stage1.rank=16",
    "candidates.crossfit.held_out_folds=1",
    "candidates.crossfit.epochs=2",
    "reranker.epochs=1",
    "reranker.text=false",
    "candidates.extra_retrievers={rules: {model: rules}}",
    "calibration=null",  # a probability of every entity would take minutes
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """The demo as it is configured, trained for a few seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CEAR_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield run(load_config("demo", QUICK), tmp_path_factory.mktemp("runs") / "demo")


@pytest.fixture(scope="module")
def fb15k237() -> Ranker:
    """Untrained ComplEx, real rules and an untrained wide re-ranker: where an answer stands is decided all the same."""
    if not (Path(os.environ.get("CEAR_DATA", "")) / "fb15k-237").is_dir():
        pytest.skip("FB15K-237 is not on this machine: CEAR_DATA names no folder that holds it")
    kb = load("fb15k-237")
    complex_ = ComplExConfig.model_validate({"rank": 16, "embedding": {"scale": 0.3}}).build(kb, HERE)
    settings = RuleSettings(direct=False, max_length=1)
    rules = RuleRetriever(learn_rules(kb.facts("train"), kb.n_entities, kb.n_relations, settings))
    return Ranker(Retrievers(kb, complex_, {"rules": rules}), k=20, reranker=untrained_wide(kb, ["rules"]))


def untrained_wide(kb: KnowledgeBase, extra: list[str]) -> Any:
    """A wide re-ranker whose last layer is not zero: it orders, if without sense."""
    reranker = WideConfig(text=False, width=16, heads=2).build(Upstream(kb, extra), HERE)
    with torch.no_grad():
        reranker.model.head[-1].weight.normal_(generator=torch.Generator().manual_seed(0))
    return reranker


def served(ranked: RankedLists, golds: Ragged, asked: Asked, queries: Queries) -> Floats:
    """The filtered rank that a person counts in the rankings: known answers that are not the gold crossed out."""
    known = asked.known.of_queries(queries)
    ranks = np.empty(len(ranked))
    for row, entities in enumerate(ranked.entities):
        gold = golds.row(row)
        crossed = np.isin(entities, np.setdiff1d(known.row(row), gold)) | (entities == NO_ENTITY)
        place = int(np.flatnonzero(np.isin(entities, gold))[0])
        in_list = place < ranked.listed[row]
        scores = (ranked.scores if in_list else ranked.stage1_scores)[row]
        part = np.arange(len(entities)) < ranked.listed[row]
        rivals = ~crossed & ~np.isin(entities, gold) & (part if in_list else ~part)
        before = 0 if in_list else int((part & ~crossed).sum())
        above, tied = (rivals & (scores > scores[place])).sum(), (rivals & (scores == scores[place])).sum()
        ranks[row] = 1 + before + above + tied / 2
    return ranks


def assert_served_is_measured(ranker: Ranker, measured: Evaluation, asked: Asked) -> None:
    for block in blocks(len(asked.queries), 100):
        queries, rows = asked.queries[block], np.arange(block.start, block.stop)
        ranked = ranker.rank(queries, ranker.kb.n_entities)
        found = served(ranked, asked.golds.take(rows), asked, queries)
        assert np.array_equal(found, measured.ranks.under("expected")[block])


class TestServedIsMeasured:
    def test_for_every_test_query_of_the_demo(self, demo: Run) -> None:
        measured = demo.evaluate("test")
        assert len(measured.queries) == 1172
        assert measured.listed is not None
        assert 0.3 < measured.listed.mean() < 1, "golds inside lists and behind them"
        assert_served_is_measured(demo.ranker, measured, Asked.of(demo.kb, "test"))

    def test_for_500_facts_of_fb15k237(self, fb15k237: Ranker) -> None:
        measured = evaluate_ranker(fb15k237, "test", facts=250)
        assert len(measured.queries) == 500
        which = sample_facts(fb15k237.kb, "test", 250)
        assert_served_is_measured(fb15k237, measured, Asked.of(fb15k237.kb, "test", which))

    def test_ask_numbers_the_new_ones_as_the_evaluation_does(self, demo: Run) -> None:
        kb, measured = demo.kb, demo.evaluate("test")
        for place in range(0, len(measured.queries), 40):
            relation = int(measured.queries.relation[place]) % kb.n_relations
            end = "object" if measured.asks_head[place] else "subject"
            entity = kb.entities.id(int(measured.queries.entity[place]))
            answers = demo.ask(kb.relations.id(relation), **{end: entity}, k=kb.n_entities)  # type: ignore[arg-type]
            gold = kb.entities.id(int(measured.gold[place]))
            (found,) = [answer for answer in answers if answer.id == gold]
            others = sum(a.known is not None and a.id != gold and 0 < a.rank < found.rank for a in answers)
            ranks = measured.ranks[np.array([place])]
            assert ranks.under("optimistic")[0] <= found.rank - others <= ranks.under("pessimistic")[0]

    def test_the_lists_that_are_served_leave_out_training_answers_as_those_that_were_learned_from(
        self, demo: Run
    ) -> None:
        ranker = demo.ranker
        queries = demo.kb.known("train").queries[:200]
        lists = ranker.lists(queries, ranker.retrievers.score_block(queries))
        known = demo.kb.known("train").of_queries(queries)
        assert not known.contains(lists.candidates.entities).any()


class TestRank:
    @pytest.fixture
    def ranker(self, towns: KnowledgeBase) -> Ranker:
        first = ComplExConfig.model_validate({"rank": 4, "embedding": {"scale": 0.5}}).build(towns, HERE)
        other = ComplExConfig.model_validate({"rank": 4, "embedding": {"scale": 0.5}}).build(towns, HERE.with_seed(1))
        return Ranker(Retrievers(towns, first, {"other": other}), 6, reranker=untrained_wide(towns, ["other"]))

    def test_it_leaves_out_what_train_says_and_what_other_splits_say_when_told(self, ranker: Ranker) -> None:
        queries = ranker.kb.known(*SPLITS).queries
        for without in (("train",), SPLITS):
            ranked = ranker.rank(queries, 30, without=without)
            gone = ranker.kb.known(*without).of_queries(queries)
            assert not gone.contains(ranked.entities).any()
            assert np.array_equal((ranked.entities != NO_ENTITY).sum(axis=1), 30 - gone.counts)

    def test_leaving_more_out_changes_no_order_of_the_others(self, ranker: Ranker) -> None:
        queries = ranker.kb.known(*SPLITS).queries
        plain, new = ranker.rank(queries, 30), ranker.rank(queries, 30, without=SPLITS)
        for one, other in zip(plain.entities, new.entities, strict=True):
            stays = np.isin(one, other) & (one != NO_ENTITY)
            assert one[stays].tolist() == other[other != NO_ENTITY].tolist()

    def test_fewer_places_are_the_first_of_more(self, ranker: Ranker) -> None:
        queries = ranker.kb.queries("test")
        few, many = ranker.rank(queries, 4), ranker.rank(queries, 25)
        assert np.array_equal(few.entities, many.entities[:, :4])
        assert np.array_equal(few.stage1_ranks, many.stage1_ranks[:, :4])

    def test_stage_1_goes_on_behind_the_list_in_its_order(self, ranker: Ranker) -> None:
        ranked = ranker.rank(ranker.kb.queries("test"), 30)
        for row, listed in enumerate(ranked.listed.tolist()):
            real = ranked.entities[row, listed:] != NO_ENTITY
            assert np.isnan(ranked.scores[row, listed:][real]).all()
            behind = ranked.stage1_scores[row, listed:][real]
            assert (np.diff(behind) <= 0).all()
            assert not np.isnan(ranked.scores[row, :listed]).any()

    def test_each_entity_stands_once(self, ranker: Ranker) -> None:
        for row in ranker.rank(ranker.kb.queries("test"), 30).entities:
            real = row[row != NO_ENTITY]
            assert len(np.unique(real)) == len(real)

    def test_without_a_second_stage_it_is_stage_1(self, ranker: Ranker) -> None:
        queries = ranker.kb.queries("test")
        ranked = replace(ranker, reranker=None).rank(queries, 12)
        assert (ranked.listed == 0).all()
        assert np.array_equal(ranked.stage1_ranks, np.broadcast_to(np.arange(1, 13), ranked.entities.shape))
        assert np.array_equal(ranked.scores, ranked.stage1_scores)

    def test_a_query_is_ranked_alike_whatever_is_asked_beside_it(self, ranker: Ranker) -> None:
        queries = ranker.kb.queries("test")
        together = ranker.rank(queries, 10)
        for row in range(0, len(queries), 5):
            alone = ranker.rank(queries[row : row + 1], 10)
            assert np.array_equal(alone.entities[0], together.entities[row])

    def test_no_query_gets_no_ranking(self, ranker: Ranker) -> None:
        nothing = np.zeros(0, np.int64)
        assert ranker.rank(Queries(nothing, nothing), 5).entities.shape == (0, 5)

    def test_threads_may_share_it(self, ranker: Ranker) -> None:
        queries = ranker.kb.queries("test")
        alone = ranker.rank(queries, 10).entities
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(lambda _: ranker.rank(queries, 10).entities, range(12)):
                assert np.array_equal(found, alone)
