"""CaRe's protocol: clusters of mentions are ranked, each by its best, and only training answers are filtered."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cear.core.errors import DataError, LeakError, MismatchError
from cear.core.types import NO_ENTITY, SPLITS, Queries, Ragged
from cear.data import KnowledgeBase, KnownAnswers, Mentions
from cear.evaluation import (
    ByCluster,
    EntityClusters,
    about,
    compare,
    evaluate,
    rank_under_filters,
    read_ranks,
    write_ranks,
)


def with_things(kb, things, ends=None):
    """The same facts, with these entities as mentions of one thing each."""
    splits = {split: kb.facts(split) for split in SPLITS}
    mentions = Mentions(Ragged.of(things), {split: np.array(rows) for split, rows in (ends or {}).items()})
    return KnowledgeBase(kb.name, kb.entities, kb.relations, splits, mentions)


class TestOnPaper:
    """Train ⟨0, r, 1⟩, valid ⟨0, r, 6⟩, test ⟨0, r, 2⟩; 1 = 3, 2 = 4, 5 = 7 = 8."""

    THINGS = ((1, 3), (2, 4), (5, 7, 8))
    TAILS = (0.1, 0.8, 0.2, 0.95, 0.5, 0.9, 0.6, 0.85, 0.7)  # 3, 5, 7, 1, 8, 6, then the gold as 4
    HEADS = (0.5, 0.9, 0.1, 0.4, 0.1, 0.6, 0.5, 0.6, 0.6)  # 1, the three names of 5, then the gold 0 beside 6

    @pytest.fixture
    def case(self, kb_of, table_scorer):
        facts = {"train": [[0, 0, 1]], "valid": [[0, 0, 6]], "test": [[0, 0, 2]]}
        kb = kb_of({split: np.array(rows) for split, rows in facts.items()}, n_entities=9, n_relations=1)
        table = torch.tensor([self.TAILS, self.HEADS])[:, None].repeat(1, 9, 1)
        ends = {"train": [[-1, 0]], "test": [[-1, 1]]}
        return with_things(kb, self.THINGS, ends), table_scorer(table)

    def test_both_protocols(self, case):
        kb, scorer = case
        ours, care = evaluate(scorer, kb, "test"), evaluate(scorer, kb, "test", protocol="care")
        # Ours: 1 and 3 are known, and 6 by a validation fact; 5, 7 and 8 are three. One entity ties with the head.
        assert ours.ranks.under().tolist() == [4.0, 5.5]
        # CaRe's: 1 and 3 are known; 5, 7 and 8 are one, and 6 counts. For the head {1, 3} and {5, 7, 8}, and the tie.
        assert care.ranks.under().tolist() == [3.0, 3.5]
        assert [care.ranks.under(ties).tolist() for ties in ("optimistic", "pessimistic")] == [[3.0, 3.0], [3.0, 4.0]]

    def test_what_is_said_of_lists_is_said_of_entities_all_the_same(self, case):
        kb, scorer = case
        ours, care = (evaluate(scorer, kb, "test", protocol=each) for each in ("ours", "care"))
        assert (ours.protocol, care.protocol) == ("ours", "care")
        assert care.recall() == ours.recall()
        assert care.leak == ours.leak

    def test_clusters_do_not_depend_on_what_a_fact_is_linked_to(self, case):
        """CaRe knows clusters of noun phrases, whoever means what by them."""
        kb, scorer = case
        unlinked = with_things(kb, self.THINGS)
        assert evaluate(scorer, unlinked, "test", protocol="care").ranks.under().tolist() == [3.0, 3.5]
        assert evaluate(scorer, unlinked, "test").ranks.under().tolist() != [4.0, 5.5]

    def test_a_training_answer_that_is_a_mention_of_the_gold_stays(self, case):
        """The gold is known under its other name, 4: it is ranked as that, not removed."""
        kb, scorer = case
        facts = {"train": np.array([[0, 0, 4]]), "test": kb.facts("test")}
        again = KnowledgeBase("toy", kb.entities, kb.relations, facts, Mentions(Ragged.of(self.THINGS), {}))
        # {1, 3}, {5, 7, 8} and 6 are before it.
        assert evaluate(scorer, again, "test", protocol="care").ranks.above[0] == 3

    def test_an_entity_of_two_things_is_in_no_cluster(self, case):
        kb, scorer = case
        shared = with_things(kb, [[1, 3], [3, 4]])
        with pytest.raises(DataError, match=r"'e3' is a mention of 2 things of 'toy'.*protocol 'ours'"):
            evaluate(scorer, shared, "test", protocol="care")


def walk(order, cluster, gold, filtered):
    """As CaRe's authors count: down the ranking to a mention of the gold, each cluster once that is not filtered."""
    seen = set()
    for entity in order:
        if cluster[entity] == cluster[gold]:
            return 1 + len(seen - filtered)
        seen.add(cluster[entity])
    raise AssertionError("a gold is always ranked")


@given(data=st.data(), n=st.integers(1, 9))
def test_ranks_are_those_of_walking_down_the_ranking(data, n):
    """The gold before all of its equals gives the optimistic rank, behind them the pessimistic one."""
    numbers = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    scores, cluster = data.draw(numbers), data.draw(numbers)
    gold, known = data.draw(st.integers(0, n - 1)), data.draw(st.sets(st.integers(0, n - 1)))
    filtered = {cluster[entity] for entity in known}
    orders = [
        sorted(range(n), key=lambda e, late=late: (-scores[e], (cluster[e] == cluster[gold]) == late))
        for late in (False, True)
    ]
    expected = [walk(order, cluster, gold, filtered) for order in orders]

    clusters = EntityClusters(np.array([cluster.index(each) for each in cluster]))
    facts = np.array([[0, 0, entity] for entity in known]).reshape(-1, 3)
    answers = clusters.with_mentions(KnownAnswers.of(facts, n, 1))

    class Scorer:
        def score_all(self, queries):
            return torch.tensor([scores] * len(queries), dtype=torch.float32)

    asked = Queries(np.zeros(1, np.int64), np.zeros(1, np.int64))
    golds = clusters.mentions(np.array([gold]))
    ranks = rank_under_filters(Scorer(), asked, golds, {"care": ByCluster(clusters, answers)})["care"]
    assert [ranks.under(ties)[0] for ties in ("optimistic", "pessimistic")] == expected


@pytest.mark.parametrize("split", SPLITS)
def test_without_mentions_it_is_ours_with_training_answers_filtered(random_kb, scorer_for, split):
    kb = random_kb()
    ours, care = (evaluate(scorer_for(kb, values=6), kb, split, protocol=each) for each in ("ours", "care"))
    assert np.array_equal(care.ranks.above, ours.fresh.above)
    assert np.array_equal(care.ranks.tied, ours.fresh.tied)
    assert np.array_equal(care.ranks.above, ours.ranks.above) == (split == "train")
    assert care.leak == ours.leak


def test_the_leak_is_found_under_either_protocol(random_kb, scorer_for):
    kb = random_kb()
    open_kb, scorer = with_things(kb, [[2 * thing, 2 * thing + 1] for thing in range(20)]), scorer_for(kb)
    evaluate(scorer, open_kb, "test", protocol="care")
    known = EntityClusters.of(open_kb).with_mentions(open_kb.known(*SPLITS))
    queries, answers = known.queries, known.answers
    scorer.table[queries.relation[answers.rows], queries.entity[answers.rows], answers.values] = 9.0
    with pytest.raises(LeakError, match="made with the gold in hand"):
        evaluate(scorer, open_kb, "test", protocol="care")


class TestListed:
    CLUSTERS = EntityClusters(np.array([0, 1, 0, 1, 4]))  # 0 = 2, 1 = 3, 4 alone

    def test_the_best_of_each_list_stands_for_its_cluster(self):
        entities = np.array([[0, 1, 2, 3], [4, 2, NO_ENTITY, NO_ENTITY]])
        scores = np.array([[0.1, 0.4, 0.3, 0.2], [0.0, 0.5, -np.inf, -np.inf]])
        leads = self.CLUSTERS.leads(entities, scores)
        assert leads[0].tolist() == [False, True, True, False]
        assert leads[1, :2].tolist() == [True, True]

    def test_of_equals_one_does(self):
        assert self.CLUSTERS.leads(np.array([[0, 4, 2]]), np.zeros((1, 3)))[0].sum() == 2


class TestRecordsOfIt:
    @pytest.fixture
    def pair(self, random_kb, scorer_for):
        kb = random_kb()
        return [evaluate(scorer_for(kb), kb, "test", protocol=each) for each in ("ours", "care")]

    def test_a_file_of_ranks_says_it_unless_it_is_ours(self, pair, tmp_path):
        for evaluation in pair:
            both = replace(evaluation, before=evaluation, listed=np.ones(len(evaluation.ranks), np.bool_))
            write_ranks(tmp_path / "x.parquet", both)
            again = read_ranks(tmp_path / "x.parquet")
            assert again.before is not None
            assert again.protocol == again.before.protocol == evaluation.protocol
        assert ["protocol" in about(each) for each in pair] == [False, True]

    def test_ranks_of_two_protocols_are_not_compared(self, pair):
        with pytest.raises(MismatchError, match="different protocols, 'ours' and 'care'"):
            compare(*pair)
