"""Ranks after re-ranking: the list first in its new order, then everybody else as Stage 1 has them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cear.candidates import Lists, Manifest
from cear.core.errors import MismatchError, ScoreError
from cear.core.types import NO_ENTITY, SPLITS, Bools, Candidates, Floats, Ints, Queries, Ragged, Ranks
from cear.data import KnowledgeBase, KnownAnswers, Mentions
from cear.evaluation import compare, confusion, evaluate, rank_in_lists, reranked
from cear.retrieval import Stage1Config, build_scorer, top_k

INF = float("inf")
MANIFEST = Manifest("toy", "digest", "test", 4, "keep", "toy")
NOTHING_KNOWN = KnownAnswers.of(np.zeros((0, 3), np.int64), 9, 1)


def lists_of(entities: Any) -> Lists:
    found = np.array(entities)
    scores = np.where(found == NO_ENTITY, -INF, -np.arange(found.shape[1]))
    return Lists(
        Queries(np.zeros(len(found), np.int64), np.zeros(len(found), np.int64)), Candidates(found, scores), MANIFEST
    )


def rank(
    entities: list[int],
    scores: list[float],
    gold: int | Ragged,
    *,
    known: KnownAnswers = NOTHING_KNOWN,
    outside: tuple[int, int] = (0, 0),
) -> tuple[int, int]:
    """Above and tied of one list."""
    standing = Ranks(np.array([outside[0]]), np.array([outside[1]]))
    golds = Ragged.singles(np.array([gold])) if isinstance(gold, int) else gold
    found = rank_in_lists(lists_of([entities]), np.array([scores]), golds, known, standing)
    return int(found.above[0]), int(found.tied[0])


class TestOnPaper:
    def test_a_gold_in_its_list_is_ranked_by_the_new_scores(self) -> None:
        assert rank([5, 6, 7, 8], [0.1, 0.4, 0.3, 0.2], gold=7, outside=(2, 0)) == (1, 0)

    def test_ties_with_the_gold_are_counted(self) -> None:
        assert rank([5, 6, 7, 8], [0.3, 0.4, 0.3, 0.3], gold=7) == (1, 2)

    def test_known_answers_do_not_compete_and_the_gold_is_none_of_them(self) -> None:
        known = KnownAnswers.of(np.array([[0, 0, 6], [0, 0, 7], [0, 0, 8]]), 9, 1)
        assert rank([5, 6, 7, 8], [0.3, 0.4, 0.3, 0.3], gold=7, known=known) == (0, 1)

    def test_pads_do_not_compete(self) -> None:
        assert rank([5, 7, NO_ENTITY, NO_ENTITY], [0.3, 0.1, -INF, -INF], gold=7) == (1, 0)

    def test_a_gold_outside_its_list_keeps_its_stage_1_rank(self) -> None:
        assert rank([5, 6, 7, 8], [0.1, 0.2, 0.3, 0.4], gold=2, outside=(6, 1)) == (6, 1)

    def test_whoever_tied_with_it_and_got_into_the_list_stands_above_it_now(self) -> None:
        # Two above it, five tied: two of these took the last two of four slots, three are left.
        assert rank([5, 6, 7, 8], [0.1, 0.2, 0.3, 0.4], gold=2, outside=(2, 5)) == (4, 3)

    def test_a_known_answer_in_the_list_pushes_nobody_down(self) -> None:
        known = KnownAnswers.of(np.array([[0, 0, 5], [0, 0, 2]]), 9, 1)
        assert rank([5, 6, 7, 8], [9.0, 0.2, 0.3, 0.4], gold=2, known=known, outside=(3, 0)) == (3, 0)

    def test_each_query_has_its_own(self) -> None:
        lists = lists_of([[5, 6], [5, 6]])
        ranks = rank_in_lists(
            lists,
            np.array([[0.0, 1.0], [1.0, 0.0]]),
            np.array([5, 5]),
            NOTHING_KNOWN,
            Ranks(np.zeros(2, int), np.zeros(2, int)),
        )
        assert ranks.above.tolist() == [1, 0]


class TestMentions:
    """The gold is 6, and 8 is another mention of it."""

    GOLD = Ragged(np.array([0, 2]), np.array([6, 8]))

    def rank(self, entities: list[int], scores: list[float], **other: Any) -> tuple[int, int]:
        return rank(entities, scores, self.GOLD, **other)

    def test_the_best_mention_of_the_gold_counts(self) -> None:
        assert self.rank([5, 6, 7, 8], [0.3, 0.1, 0.4, 0.35]) == (1, 0)

    def test_its_mentions_are_no_ties_of_each_other(self) -> None:
        assert self.rank([5, 6, 7, 8], [0.3, 0.3, 0.4, 0.3]) == (1, 1)

    def test_one_of_them_in_the_list_is_enough(self) -> None:
        assert self.rank([5, 7, 8, NO_ENTITY], [0.3, 0.1, 0.2, -INF], outside=(7, 0)) == (1, 0)

    def test_with_none_of_them_in_the_list_stage_1_has_ranked_the_best(self) -> None:
        assert self.rank([5, 7], [0.3, 0.1], outside=(3, 1)) == (3, 1)


class TestScoresThatAreNone:
    @pytest.mark.parametrize("bad", [float("nan"), INF, -INF])
    def test_are_refused(self, bad: float) -> None:
        with pytest.raises(ScoreError, match=r"1 scores that are not finite, the first in list 0"):
            rank([5, 6], [0.0, bad], gold=5)

    def test_are_refused_in_another_shape(self) -> None:
        with pytest.raises(ScoreError, match=r"shape \(1, 3\) for lists of shape \(1, 2\)"):
            rank([5, 6], [0.0, 1.0, 2.0], gold=5)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Ints, Bools, Ints, int, int, Ints]:
    """Stage-1 scores of all entities, who is known, who is left out of lists, k, the gold, new scores."""
    n = draw(st.integers(2, 9))
    numbers = st.lists(st.integers(0, 4), min_size=n, max_size=n).map(np.array)  # few values: many ties
    flags = st.lists(st.booleans(), min_size=n, max_size=n).map(np.array)
    gold = draw(st.integers(0, n - 1))
    known, dropped = draw(flags), draw(flags)
    dropped = dropped & known  # what lists leave out is known
    dropped[gold] = False
    return draw(numbers), known, np.flatnonzero(~dropped), draw(st.integers(1, n)), gold, draw(numbers)


@given(worlds(), st.randoms(use_true_random=False), st.booleans())
def test_it_is_the_rank_in_the_list_followed_by_the_rest(
    world: tuple[Ints, Bools, Ints, int, int, Ints], random: Random, union: bool
) -> None:
    """Against the definition: put the list before everybody else, take the known away, count.

    A list is Stage 1's own best, or, with Stage 1's score of the gold at hand, any entities at all.
    """
    first, known, eligible, k, gold, second = world
    n = len(first)
    if union:
        eligible = np.array(random.sample(eligible.tolist(), min(k, len(eligible))))
    listed = eligible[np.argsort(-first[eligible], kind="stable")][:k]
    everybody = np.array([[e in listed, second[e] if e in listed else first[e]] for e in range(n)])
    competes = ~known
    competes[gold] = True
    height = [tuple(row) for row in everybody]
    above = sum(height[e] > height[gold] for e in range(n) if competes[e])
    tied = sum(height[e] == height[gold] for e in range(n) if competes[e]) - 1

    stage1 = Ranks(np.array([sum(first[competes] > first[gold])]), np.array([sum(first[competes] == first[gold]) - 1]))
    padded = np.concatenate([listed, np.full(k - len(listed), NO_ENTITY)])
    scores = np.where(padded == NO_ENTITY, -INF, second[padded]).astype(float)
    facts = np.array([[0, 0, e] for e in np.flatnonzero(known)]).reshape(-1, 3)
    answers = KnownAnswers.of(facts, n, 1)
    ranked = np.where(padded == NO_ENTITY, -INF, first[padded]).astype(float)
    lists = replace(lists_of([padded]), candidates=Candidates(padded[None], ranked[None]))
    heights = np.array([first[gold]], float) if union else None
    found = rank_in_lists(lists, scores[None], np.array([gold]), answers, stage1, heights)
    assert (found.above.tolist(), found.tied.tolist()) == ([above], [tied])


class TestTheEvaluation:
    @pytest.fixture
    def scorer(self) -> Any:
        return build_scorer(Stage1Config(rank=4, init_scale=0.5), 30, 3)

    @staticmethod
    def lists(scorer: Any, kb: KnowledgeBase, queries: Queries, k: int, *, drop: bool = False) -> Lists:
        found = top_k(scorer, queries, k, drop=kb.known("train") if drop else None)
        return Lists(queries, found, replace(MANIFEST, k=k))

    @pytest.mark.parametrize("k", [1, 7, 30])
    @pytest.mark.parametrize("drop", [False, True])
    def test_with_stage_1s_own_scores_nothing_changes(
        self, towns: KnowledgeBase, scorer: Any, k: int, drop: bool
    ) -> None:
        before = evaluate(scorer, towns, "test")
        lists = self.lists(scorer, towns, before.queries, k, drop=drop)
        after = reranked(before, towns, lists, lists.candidates.scores)
        assert np.array_equal(after.ranks.above, before.ranks.above)
        assert np.array_equal(after.ranks.tied, before.ranks.tied)
        assert after.before is before
        assert confusion(before, after)["01"] == confusion(before, after)["10"] == 0

    @pytest.mark.parametrize("k", [1, 7])
    def test_no_query_leaves_the_mean(self, towns: KnowledgeBase, scorer: Any, k: int) -> None:
        before = evaluate(scorer, towns, "test")
        lists = self.lists(scorer, towns, before.queries, k)
        after = reranked(before, towns, lists, -lists.candidates.scores)
        assert len(after.ranks) == len(before.ranks) == 2 * len(towns.facts("test"))
        outside = ~(lists.candidates.entities == before.gold[:, None]).any(axis=1)
        assert outside.any()
        assert np.array_equal(after.ranks.under()[outside], before.ranks.under()[outside])

    def test_a_perfect_re_ranker_reaches_the_recall_of_the_lists(self, towns: KnowledgeBase, scorer: Any) -> None:
        before = evaluate(scorer, towns, "test")
        lists = self.lists(scorer, towns, before.queries, 7)
        perfect = (lists.candidates.entities == before.gold[:, None]).astype(float)
        after = reranked(before, towns, lists, perfect)
        assert after.summary()["both"]["hits@1"] == pytest.approx(before.recall((7,))["kept"]["recall@7"])
        assert after.listed is not None
        assert after.listed.mean() == pytest.approx(before.recall((7,))["kept"]["recall@7"])
        assert compare(before, after)["hits@1"].difference > 0

    def test_scores_that_tie_everything_get_chance(self, towns: KnowledgeBase) -> None:
        """A constant Stage 1 and a constant Stage 2: the expected rank within the list, or behind it."""

        class Constant:
            n_entities = 30

            def score_all(self, queries: Queries, among: Any = None) -> Any:
                return torch.zeros(len(queries), 30 if among is None else len(among))

        before = evaluate(Constant(), towns, "test")  # type: ignore[arg-type]
        lists = self.lists(Constant(), towns, before.queries, 10)
        after = reranked(before, towns, lists, np.zeros((len(lists), 10)))
        left = 30 - (towns.known(*SPLITS).of_queries(before.queries).counts - 1)
        assert (after.ranks.above + after.ranks.tied < left).all()
        assert after.ranks.under().mean() == pytest.approx(((left + 1) / 2).mean(), rel=0.4)

    def test_lists_of_other_queries_are_refused(self, towns: KnowledgeBase, scorer: Any) -> None:
        before = evaluate(scorer, towns, "test")
        for queries in (before.queries[np.arange(23, -1, -1)], before.queries[:-1], towns.queries("valid")):
            lists = self.lists(scorer, towns, queries, 3)
            with pytest.raises(MismatchError, match="not those of the evaluated queries"):
                reranked(before, towns, lists, lists.candidates.scores)

    def test_validation_is_blind_to_test_facts(self, towns: KnowledgeBase, scorer: Any) -> None:
        """A test answer above the gold of a validation query counts against it."""
        facts: Any = {"train": towns.facts("train")[:3], "valid": [[0, 0, 25]], "test": [[0, 0, 26]]}
        kb = KnowledgeBase("toy", towns.entities, towns.relations, facts)
        before = evaluate(scorer, kb, "valid")
        lists = self.lists(scorer, kb, before.queries, 30)
        height = {26: 2.0, 25: 1.0}
        scores: Floats = np.vectorize(lambda entity: height.get(entity, 0.0))(lists.candidates.entities)
        assert reranked(before, kb, lists, scores).ranks.above[0] == 1


def test_an_open_knowledge_base_is_measured_after_re_ranking_as_before(towns: KnowledgeBase) -> None:
    """Things of five towns each: with Stage 1's own scores nothing changes."""
    members = Ragged(np.arange(0, 26, 5), np.arange(25))
    ends: Any = {split: towns.facts(split)[:, [0, 2]] // 5 for split in SPLITS}
    ends = {split: np.where(things == 5, -1, things) for split, things in ends.items()}
    facts: Any = {split: towns.facts(split) for split in SPLITS}
    kb = KnowledgeBase("open", towns.entities, towns.relations, facts, Mentions(members, ends))
    scorer = build_scorer(Stage1Config(rank=4, init_scale=0.5), 30, 3)
    before, closed = evaluate(scorer, kb, "test"), evaluate(scorer, towns, "test")
    assert not np.array_equal(before.ranks.above, closed.ranks.above), "mentions matter here"
    lists = TestTheEvaluation.lists(scorer, kb, before.queries, 9)
    after = reranked(before, kb, lists, lists.candidates.scores)
    assert np.array_equal(after.ranks.above, before.ranks.above)
    assert np.array_equal(after.ranks.tied, before.ranks.tied)


def test_confusion_on_paper(towns: KnowledgeBase) -> None:
    before = evaluate(build_scorer(Stage1Config(rank=4), 30, 3), towns, "test")
    zeros = np.zeros(24, np.int64)
    first, second = (
        replace(before, ranks=Ranks(np.array(above), zeros)) for above in ([0] * 5 + [1] * 19, [0] * 2 + [3] * 21 + [0])
    )
    assert confusion(first, second) == {"00": 18, "01": 1, "10": 3, "11": 2}
    half = replace(before, ranks=Ranks(zeros, zeros + 1))  # tied for first place: expected rank 1.5
    assert confusion(half, half)["11"] == 0
    assert confusion(replace(half, ties="optimistic"), half)["10"] == 24
