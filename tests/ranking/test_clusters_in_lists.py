"""CaRe's protocol after re-ranking: a cluster stands where its best mention does, in the list or behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cear.candidates import Lists, Manifest, Retrievers
from cear.core.context import Context
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, SPLITS, Candidates, Floats, Queries, Ragged
from cear.data import KnowledgeBase, KnownAnswers, Mentions
from cear.evaluation import ByCluster, EntityClusters, Filter, evaluate, rank_block
from cear.ranking import Ranker, evaluate_ranker, rank_in_lists
from cear.retrieval import ComplExConfig, RowsConfig

FIVE = np.minimum(np.arange(30) // 5 * 5, 25)  # the first mention of each cluster: six of five entities


def ranks_in_list(
    cluster: Sequence[int], first: Sequence[float], second: Mapping[int, float], gold: int, known: Iterable[int]
) -> tuple[int, int]:
    """Above and tied of one query: Stage 1's scores of all entities, and the scores of those in the list."""
    n, clusters = len(cluster), EntityClusters(np.array([cluster.index(each) for each in cluster]))
    facts = np.array([[0, 0, entity] for entity in sorted(known)]).reshape(-1, 3)
    answers = clusters.with_mentions(KnownAnswers.of(facts, n, 1))
    query, row = Queries(np.zeros(1, np.int64), np.zeros(1, np.int64)), np.zeros(1, np.int64)
    golds, scores = clusters.mentions(np.array([gold])), np.array([first], float)
    filters: dict[str, Filter] = {"ranks": ByCluster(clusters, answers)}
    outside = rank_block(scores, query, row, golds, filters)["ranks"]
    entities = np.array([[*second, NO_ENTITY]])
    manifest = Manifest("toy", "digest", "test", len(second) + 1, "keep", "toy")
    lists = Lists(query, Candidates(entities, np.zeros(entities.shape)), manifest)
    best = [max(s for s, c in zip(first, cluster, strict=True) if c == cluster[e]) for e in (gold, *second)]
    stage1 = np.array([best[0]], float), np.array([[*best[1:], -np.inf]])
    new = np.array([[*second.values(), -np.inf]])
    found = rank_in_lists(lists, new, golds, answers, outside, stage1, clusters=clusters)
    return int(found.above[0]), int(found.tied[0])


class TestOnPaper:
    """The gold is 0, which is also called 1; 2 = 3 = 4, 5 = 6, 7 alone."""

    CLUSTER = (0, 0, 2, 2, 2, 5, 5, 7)

    def rank(self, first: list[float], second: dict[int, float], known: Iterable[int] = ()) -> tuple[int, int]:
        return ranks_in_list(self.CLUSTER, first, second, 0, known)

    def test_a_cluster_with_several_mentions_above_the_gold_counts_once(self) -> None:
        assert self.rank([0.0] * 8, {2: 0.9, 3: 0.8, 1: 0.5, 5: 0.6, 4: 0.1}) == (2, 0)

    def test_it_ties_with_the_gold_if_its_best_mention_does(self) -> None:
        assert self.rank([0.0] * 8, {2: 0.5, 3: 0.5, 1: 0.5, 5: 0.6, 6: 0.5}) == (1, 1)

    def test_training_answers_leave_with_their_clusters(self) -> None:
        assert self.rank([0.0] * 8, {2: 0.9, 3: 0.8, 1: 0.5, 5: 0.6}, known={4}) == (1, 0)

    def test_a_gold_outside_its_list_stands_behind_the_clusters_before_it_and_those_the_list_brought_in(self) -> None:
        # By Stage 1 {2, 3, 4} is before the gold, thanks to 2 alone. The list has 3 of it, and 5 and 6 from below.
        assert self.rank([0.5, 0.4, 0.9, 0.1, 0.1, 0.2, 0.2, 0.3], {3: 0.1, 5: 0.1, 6: 0.2}) == (2, 0)

    def test_a_cluster_that_tied_with_it_and_got_into_the_list_stands_above_it_now(self) -> None:
        # {2, 3, 4} and 7 tie with the gold; the list takes 3, a lesser mention than the one that ties.
        assert self.rank([0.5, 0.4, 0.5, 0.1, 0.1, 0.2, 0.2, 0.5], {3: 0.1}) == (1, 1)


def heights(first: Any, second: dict[int, float]) -> list[tuple[bool, float]]:
    """Where everybody stands: those of the list, by their new scores, before all others."""
    return [(entity in second, second.get(entity, float(score))) for entity, score in enumerate(first)]


def by_definition(cluster: Any, height: Any, gold: int, known: set[int]) -> tuple[int, int]:
    """Other clusters that have no training answer, by their best mention: above and beside the gold's."""
    best: dict[int, Any] = {}
    for each, place in zip(cluster, height, strict=True):
        best[int(each)] = max(best.get(int(each), place), place)
    own, gone = int(cluster[gold]), {int(cluster[entity]) for entity in known}
    rivals = [place for each, place in best.items() if each != own and each not in gone]
    return sum(place > best[own] for place in rivals), sum(place == best[own] for place in rivals)


@given(st.data(), st.integers(1, 9))
def test_ranks_are_those_of_the_definition(data: st.DataObject, n: int) -> None:
    """For any list at all, as a union with other retrievers may be."""
    numbers = st.lists(st.integers(0, 3), min_size=n, max_size=n)  # few values: many ties
    cluster, first = data.draw(numbers), data.draw(numbers)
    entity = st.integers(0, n - 1)
    second = data.draw(st.dictionaries(entity, st.integers(0, 3).map(float)))
    gold, known = data.draw(entity), data.draw(st.sets(entity))
    expected = by_definition(cluster, heights(first, second), gold, known)
    assert ranks_in_list(cluster, [float(each) for each in first], second, gold, known) == expected


@dataclass(frozen=True)
class TheOtherWay:
    """A re-ranker that turns every list round."""

    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        del progress
        scores = lists.candidates.scores
        return np.where(lists.candidates.entities == NO_ENTITY, scores, -scores)


def scorer_of(kb: KnowledgeBase, seed: int = 0) -> Any:
    return ComplExConfig(rank=4, embedding=RowsConfig(scale=0.5)).build(kb, Context(seed=seed))


@pytest.fixture(scope="module")
def open_towns(towns: KnowledgeBase) -> KnowledgeBase:
    """Clusters of five entities each; facts are linked to nothing, which clusters do not mind."""
    facts: Any = {split: towns.facts(split) for split in SPLITS}
    things = Mentions(Ragged(np.arange(0, 31, 5), np.arange(30)), {})
    return KnowledgeBase("open", towns.entities, towns.relations, facts, things)


@pytest.mark.parametrize("known", ["keep", "drop"])
@pytest.mark.parametrize("extra", [{}, {"other": 1}], ids=["alone", "union"])
def test_both_stages_of_a_ranker_are_measured_by_the_definition(
    open_towns: KnowledgeBase, known: Any, extra: dict[str, int]
) -> None:
    retrievers = Retrievers(
        open_towns, scorer_of(open_towns), {name: scorer_of(open_towns, seed) for name, seed in extra.items()}
    )
    ranker = Ranker(retrievers, k=4, known=known, reranker=TheOtherWay())
    after = evaluate_ranker(ranker, "test", protocol="care")
    before = after.before
    assert before is not None
    assert (after.protocol, before.protocol) == ("care", "care")
    alone = evaluate(retrievers.first, open_towns, "test", protocol="care")
    assert np.array_equal(before.ranks.above, alone.ranks.above)
    lists = ranker.places(after.queries, after.gold, {}).lists
    assert lists is not None
    final, first = ranker.final_scores(lists), retrievers.first.score_all(after.queries).detach().numpy()
    trained = open_towns.known("train").of_queries(after.queries)
    for row, gold in enumerate(after.gold.tolist()):
        listed = zip(lists.candidates.entities[row].tolist(), final[row].tolist(), strict=True)
        second = {entity: score for entity, score in listed if entity != NO_ENTITY}
        answers = set(trained.row(row).tolist())
        for measured, order in ((before, {}), (after, second)):
            expected = by_definition(FIVE, heights(first[row], order), gold, answers)
            assert (measured.ranks.above[row], measured.ranks.tied[row]) == expected
    assert after.listed is not None
    assert 0 < after.listed.mean() < 1, "golds in their lists and outside them"


def test_without_mentions_it_is_ours_with_training_answers_filtered(towns: KnowledgeBase) -> None:
    ranker = Ranker(Retrievers(towns, scorer_of(towns)), k=7, known="keep", reranker=TheOtherWay())
    care, trained = evaluate_ranker(ranker, "test", protocol="care"), towns.known("train")
    places = ranker.places(care.queries, care.gold, {"ranks": trained})
    assert places.lists is not None
    ours = places.after(ranker.final_scores(places.lists), trained)
    assert np.array_equal(care.ranks.above, ours.above)
    assert np.array_equal(care.ranks.tied, ours.tied)
    assert not np.array_equal(ours.above, evaluate_ranker(ranker, "test").ranks.above), "the filter matters here"


def test_no_query_leaves_the_mean(open_towns: KnowledgeBase) -> None:
    ranker = Ranker(Retrievers(open_towns, scorer_of(open_towns)), k=2, reranker=TheOtherWay())
    after = evaluate_ranker(ranker, "test", protocol="care")
    assert len(after.ranks) == 2 * len(open_towns.facts("test"))
    assert (after.ranks.under("pessimistic") <= 6).all(), "there are six clusters"
