"""Ranks after re-ranking: the list first in its new order, then everybody else as Stage 1 has them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cear.candidates import Lists, Manifest, Retrievers
from cear.core.context import Context
from cear.core.errors import ScoreError
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, SPLITS, Bools, Candidates, Floats, Ints, Queries, Ragged, Ranks
from cear.data import KnowledgeBase, KnownAnswers, Mentions
from cear.evaluation import compare, evaluate
from cear.ranking import Ranker, confusion, evaluate_ranker, rank_in_lists, read_places, write_places
from cear.retrieval import ComplExConfig, RowsConfig

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
    before: tuple[float, list[float]] | None = None,
) -> tuple[int, int]:
    """Above and tied of one list; Stage 1 scores the gold and the listed as `before`, or all of them above the gold."""
    standing = Ranks(np.array([outside[0]]), np.array([outside[1]]))
    golds = Ragged.singles(np.array([gold])) if isinstance(gold, int) else gold
    of_gold, of_listed = before or (0.0, [1.0] * len(entities))
    found = rank_in_lists(
        lists_of([entities]), np.array([scores]), golds, known, standing, (np.array([of_gold]), np.array([of_listed]))
    )
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
        before = (1.0, [3.0, 2.0, 1.0, 1.0])
        assert rank([5, 6, 7, 8], [0.1, 0.2, 0.3, 0.4], gold=2, outside=(2, 5), before=before) == (4, 3)

    def test_whoever_got_into_the_list_from_below_it_stands_above_it_now(self) -> None:
        before = (1.0, [3.0, 2.0, 0.5, 0.1])  # the last two by the grace of another retriever
        assert rank([5, 6, 7, 8], [0.1, 0.2, 0.3, 0.4], gold=2, outside=(2, 0), before=before) == (4, 0)

    def test_a_known_answer_in_the_list_pushes_nobody_down(self) -> None:
        known = KnownAnswers.of(np.array([[0, 0, 5], [0, 0, 2]]), 9, 1)
        assert rank([5, 6, 7, 8], [9.0, 0.2, 0.3, 0.4], gold=2, known=known, outside=(3, 0)) == (3, 0)

    def test_each_query_has_its_own(self) -> None:
        lists = lists_of([[5, 6], [5, 6]])
        ranks = rank_in_lists(
            lists,
            np.array([[0.0, 1.0], [1.0, 0.0]]),
            Ragged.singles(np.array([5, 5])),
            NOTHING_KNOWN,
            Ranks(np.zeros(2, int), np.zeros(2, int)),
            (np.ones(2), np.ones((2, 2))),
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

    A list is Stage 1's own best, or, as a union with other retrievers may be, any entities at all.
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
    heights = np.array([first[gold]], float), ranked[None]
    found = rank_in_lists(lists, scores[None], Ragged.singles(np.array([gold])), answers, stage1, heights)
    assert (found.above.tolist(), found.tied.tolist()) == ([above], [tied])


@dataclass(frozen=True)
class Says:
    """A re-ranker whose scores are a function of the lists."""

    scores: Any

    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        del progress
        padded = lists.candidates.entities == NO_ENTITY
        return np.where(padded, -INF, np.asarray(self.scores(lists), float))


AS_BEFORE = Says(lambda lists: lists.candidates.scores)
THE_OTHER_WAY = Says(lambda lists: -np.where(lists.candidates.entities == NO_ENTITY, 0, lists.candidates.scores))


class Constant:
    """Everybody has the same score."""

    n_entities = 30

    def score_all(self, queries: Queries, among: Any = None) -> torch.Tensor:
        return torch.zeros(len(queries), 30 if among is None else len(among))

    def score_candidates(self, queries: Queries, entities: Ints) -> torch.Tensor:
        del queries
        return torch.zeros(entities.shape)


def scorer_of(kb: KnowledgeBase, seed: int = 0) -> Any:
    return ComplExConfig(rank=4, embedding=RowsConfig(scale=0.5)).build(kb, Context(seed=seed))


def gold_first(kb: KnowledgeBase) -> Says:
    """Whoever is an answer by a test fact."""
    return Says(lambda lists: kb.known("test").of_queries(lists.queries).contains(lists.candidates.entities))


class TestTheEvaluation:
    @pytest.fixture(params=[{}, {"other": 1}], ids=["alone", "union"])
    def ranker(self, request: pytest.FixtureRequest, towns: KnowledgeBase) -> Ranker:
        """A Stage 1 that knows nothing, alone or with another one beside it."""
        extra = {name: scorer_of(towns, seed) for name, seed in request.param.items()}
        return Ranker(Retrievers(towns, scorer_of(towns), extra))

    @pytest.mark.parametrize("k", [1, 7, 30, 500])
    @pytest.mark.parametrize("known", ["keep", "drop"])
    def test_with_stage_1s_own_scores_nothing_changes(self, towns: KnowledgeBase, k: int, known: Any) -> None:
        ranker = Ranker(Retrievers(towns, scorer_of(towns)), k=k, known=known, reranker=AS_BEFORE)
        before, after = evaluate(ranker.retrievers.first, towns, "test"), evaluate_ranker(ranker, "test")
        assert np.array_equal(after.ranks.above, before.ranks.above)
        assert np.array_equal(after.ranks.tied, before.ranks.tied)
        assert after.before is not None
        assert np.array_equal(after.before.ranks.above, before.ranks.above)
        assert confusion(before, after)["01"] == confusion(before, after)["10"] == 0

    @pytest.mark.parametrize("k", [1, 7])
    def test_no_query_leaves_the_mean(self, towns: KnowledgeBase, ranker: Ranker, k: int) -> None:
        after = evaluate_ranker(replace(ranker, k=k, reranker=THE_OTHER_WAY), "test")
        assert after.before is not None
        assert after.listed is not None
        assert len(after.ranks) == len(after.before.ranks) == 2 * len(towns.facts("test"))
        assert (~after.listed).any()
        worse = after.ranks.under() >= after.before.ranks.under()
        assert worse[~after.listed].all(), "behind its list, and not behind more than the list"
        assert (after.ranks.under() <= after.before.ranks.under() + k)[~after.listed].all()

    def test_ranks_are_those_of_sorting_everybody(self, towns: KnowledgeBase, ranker: Ranker) -> None:
        """The list in its new order, then all others in Stage 1's, filtered."""
        whole = replace(ranker, k=7, reranker=THE_OTHER_WAY)
        after = evaluate_ranker(whole, "test")
        known = towns.known(*SPLITS).of_queries(after.queries)
        places = whole.places(after.queries, after.gold, {"ranks": towns.known(*SPLITS)})
        assert places.lists is not None
        final = whole.final_scores(places.lists)
        first = whole.retrievers.first.score_all(after.queries).detach().numpy()
        for row, gold in enumerate(after.gold.tolist()):
            listed = dict(zip(places.lists.candidates.entities[row].tolist(), final[row].tolist(), strict=True))
            height = {e: (e in listed, listed.get(e, first[row, e])) for e in range(30)}
            rivals = [e for e in range(30) if e != gold and e not in known.row(row)]
            assert after.ranks.above[row] == sum(height[e] > height[gold] for e in rivals)

    def test_a_perfect_re_ranker_reaches_the_recall_of_the_lists(self, towns: KnowledgeBase) -> None:
        ranker = Ranker(Retrievers(towns, scorer_of(towns)), k=7, known="keep", reranker=gold_first(towns))
        before, after = evaluate(ranker.retrievers.first, towns, "test"), evaluate_ranker(ranker, "test")
        assert after.summary()["both"]["hits@1"] == pytest.approx(before.recall((7,))["kept"]["recall@7"])
        assert after.listed is not None
        assert after.listed.mean() == pytest.approx(before.recall((7,))["kept"]["recall@7"])
        assert compare(before, after)["hits@1"].difference > 0

    def test_scores_that_tie_everything_get_chance(self, towns: KnowledgeBase) -> None:
        """A constant Stage 1 and a constant Stage 2: the expected rank within the list, or behind it."""
        nothing = Says(lambda lists: np.zeros(lists.candidates.entities.shape))
        after = evaluate_ranker(Ranker(Retrievers(towns, Constant()), k=10, known="keep", reranker=nothing), "test")
        left = 30 - (towns.known(*SPLITS).of_queries(after.queries).counts - 1)
        assert (after.ranks.above + after.ranks.tied < left).all()
        assert after.ranks.under().mean() == pytest.approx(((left + 1) / 2).mean(), rel=0.4)

    def test_validation_is_blind_to_test_facts(self, towns: KnowledgeBase) -> None:
        """A test answer above the gold of a validation query counts against it."""
        facts: Any = {"train": towns.facts("train")[:3], "valid": [[0, 0, 25]], "test": [[0, 0, 26]]}
        kb = KnowledgeBase("toy", towns.entities, towns.relations, facts)
        height = {26: 2.0, 25: 1.0}
        by_height = Says(lambda lists: np.vectorize(lambda e: height.get(e, 0.0))(lists.candidates.entities))
        ranker = Ranker(Retrievers(kb, scorer_of(kb)), k=30, known="keep", reranker=by_height)
        assert evaluate_ranker(ranker, "valid").ranks.above[0] == 1

    @pytest.mark.parametrize("k", [7, 500])
    def test_places_on_disk_are_the_same_places(
        self, towns: KnowledgeBase, ranker: Ranker, tmp_path: Any, k: int
    ) -> None:
        """Of lists that would be longer than there are entities, too."""
        known = towns.known(*SPLITS)
        queries, gold = towns.queries("test"), towns.gold("test")
        places = replace(ranker, k=k).places(queries, gold, {"ranks": known}, with_lists=True)
        write_places(tmp_path, places)
        again = replace(read_places(tmp_path, towns), queries=places.queries, golds=places.golds)
        assert places.lists is not None
        scores = THE_OTHER_WAY.rerank(places.lists)
        mine, its = (each.after(scores, known) for each in (places, again))
        assert np.array_equal(mine.above, its.above)
        assert np.array_equal(mine.tied, its.tied)


def test_an_open_knowledge_base_is_measured_after_re_ranking_as_before(towns: KnowledgeBase) -> None:
    """Things of five towns each: with Stage 1's own scores nothing changes."""
    members = Ragged(np.arange(0, 26, 5), np.arange(25))
    ends: Any = {split: towns.facts(split)[:, [0, 2]] // 5 for split in SPLITS}
    ends = {split: np.where(things == 5, -1, things) for split, things in ends.items()}
    facts: Any = {split: towns.facts(split) for split in SPLITS}
    kb = KnowledgeBase("open", towns.entities, towns.relations, facts, Mentions(members, ends))
    before, closed = evaluate(scorer_of(kb), kb, "test"), evaluate(scorer_of(towns), towns, "test")
    assert not np.array_equal(before.ranks.above, closed.ranks.above), "mentions matter here"
    after = evaluate_ranker(Ranker(Retrievers(kb, scorer_of(kb)), k=9, known="keep", reranker=AS_BEFORE), "test")
    assert np.array_equal(after.ranks.above, before.ranks.above)
    assert np.array_equal(after.ranks.tied, before.ranks.tied)


def test_confusion_on_paper(towns: KnowledgeBase) -> None:
    before = evaluate(scorer_of(towns), towns, "test")
    zeros = np.zeros(24, np.int64)
    first, second = (
        replace(before, ranks=Ranks(np.array(above), zeros)) for above in ([0] * 5 + [1] * 19, [0] * 2 + [3] * 21 + [0])
    )
    assert confusion(first, second) == {"00": 18, "01": 1, "10": 3, "11": 2}
    half = replace(before, ranks=Ranks(zeros, zeros + 1))  # tied for first place: expected rank 1.5
    assert confusion(half, half)["11"] == 0
    assert confusion(replace(half, ties="optimistic"), half)["10"] == 24
