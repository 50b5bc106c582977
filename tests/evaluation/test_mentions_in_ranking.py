"""Open knowledge bases: the best mention of the gold counts, other known answers go with all their mentions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cear.core.errors import LeakError, ScoreError
from cear.core.types import Ragged
from cear.data import KnowledgeBase, Mentions
from cear.evaluation import evaluate, rank


def ragged(*rows):
    return Ragged(np.cumsum([0, *map(len, rows)]), np.array([value for row in rows for value in row], np.int64))


def with_mentions(kb, things, ends):
    splits = {split: kb.facts(split) for split in ("train", "valid", "test")}
    mentions = Mentions(ragged(*things), {split: np.array(rows) for split, rows in ends.items()})
    return KnowledgeBase(kb.name, kb.entities, kb.relations, splits, mentions)


class TestRank:
    scores = torch.tensor([[0.9, 0.5, 0.8, 0.5, 0.5, 0.1]])

    def test_the_best_mention_counts(self):
        ranks = rank(self.scores, ragged([1, 2, 5]), ragged([]))
        assert (ranks.above.tolist(), ranks.tied.tolist()) == ([1], [0])

    def test_level_mentions_of_the_gold_are_no_tie(self):
        ranks = rank(self.scores, ragged([1, 3]), ragged([]))
        assert (ranks.above.tolist(), ranks.tied.tolist()) == ([2], [1])

    def test_a_known_mention_of_the_gold_is_not_filtered(self):
        """It is an answer under another name: the gold's best mention, not somebody who leaves the ranking."""
        assert rank(self.scores, ragged([1, 0]), ragged([0, 1, 2])).under().tolist() == [1.0]

    def test_a_gold_without_a_mention_is_refused(self):
        with pytest.raises(ScoreError, match="The gold of query 0 has no mention"):
            rank(self.scores, ragged([]), ragged([]))

    def test_one_mention_is_the_gold_as_ever(self):
        known = ragged([0, 1, 4, 5])
        one, other = rank(self.scores, np.array([1]), known), rank(self.scores, ragged([1]), known)
        assert (one.above, one.tied) == (other.above, other.tied)


def brute_force(scores, mentions, known):
    """By the textbook: take known answers out unless they are the gold, keep the gold's best mention alone."""
    best = max(mentions, key=lambda entity: scores[entity])
    left = [scores[e] for e in range(len(scores)) if e not in mentions and e not in known]
    return sum(score > scores[best] for score in left), sum(score == scores[best] for score in left)


@given(data=st.data(), n=st.integers(1, 9), queries=st.integers(1, 4))
def test_ranks_are_those_of_the_textbook(data, n, queries):
    def per_query(what):
        return data.draw(st.lists(what, min_size=queries, max_size=queries))

    entity = st.integers(0, n - 1)
    scores = np.array(per_query(st.lists(st.integers(-2, 2), min_size=n, max_size=n)), np.float32)
    golds, known = per_query(st.sets(entity, min_size=1)), per_query(st.sets(entity))
    ranks = rank(torch.from_numpy(scores), ragged(*map(sorted, golds)), ragged(*map(sorted, known)))
    expected = [brute_force(*each) for each in zip(scores, golds, known, strict=True)]
    assert list(zip(ranks.above.tolist(), ranks.tied.tolist(), strict=True)) == expected


class TestEvaluate:
    @pytest.fixture
    def paper_case(self, kb_of, table_scorer):
        """Train ⟨0, r, 1⟩, test ⟨0, r, 2⟩; 3 is another name of 1, 4 another of 2; tails rank 3, 1, 5, 4, 2, 0."""
        kb = kb_of({"train": np.array([[0, 0, 1]]), "test": np.array([[0, 0, 2]])}, n_entities=6, n_relations=1)
        tails = torch.tensor([[0.1, 0.8, 0.2, 0.9, 0.3, 0.5]]).repeat(6, 1)
        heads = torch.tensor([[0.6, 0.5, 0.4, 0.3, 0.2, 0.1]]).repeat(6, 1)
        return kb, table_scorer(torch.stack([tails, heads]))

    def test_a_golden_case(self, paper_case):
        kb, scorer = paper_case
        open_kb = with_mentions(kb, [[1, 3], [2, 4]], {"train": [[-1, 0]], "test": [[-1, 1]]})
        # ⟨0, r, ?⟩: 1 and 3 are known and go, 4 stands for the gold, 5 is before it.
        assert evaluate(scorer, open_kb, "test").ranks.under().tolist() == [2.0, 1.0]
        # As retrieved 3, 1 and 5 are before it; without training answers, which lists drop by name, 3 and 5.
        assert evaluate(scorer, open_kb, "test").retrieved.under().tolist() == [4.0, 1.0]
        assert evaluate(scorer, open_kb, "test").fresh.under().tolist() == [3.0, 1.0]
        # Without mentions: 1 goes, and 3, 5, 4 are before 2.
        assert evaluate(scorer, kb, "test").ranks.under().tolist() == [4.0, 1.0]

    def test_the_filter_does_something(self, paper_case):
        """Code in use looked its filter up by the wrong key and filtered nothing: here every part of it shows."""
        kb, scorer = paper_case
        ranks = [
            evaluate(scorer, with_mentions(kb, things, ends), "test").ranks.under()[0]
            for things, ends in [
                ([[1], [2]], {}),  # the known answer goes
                ([[1, 3], [2]], {"train": [[-1, 0]]}),  # and its mentions
                ([[1, 3], [2, 4]], {"train": [[-1, 0]], "test": [[-1, 1]]}),  # and the gold's best mention counts
            ]
        ]
        assert ranks == [4.0, 3.0, 2.0]
        assert evaluate(scorer, kb, "test").retrieved.under()[0] == 5.0

    def test_validation_reads_no_mention_of_a_test_fact(self, kb_of, scorer_for):
        facts = {"train": [[0, 0, 1]], "valid": [[0, 0, 2]], "test": [[0, 0, 3]]}
        kb = kb_of({split: np.array(rows) for split, rows in facts.items()}, n_entities=6, n_relations=1)
        scorer = scorer_for(kb, values=4)
        plain = with_mentions(kb, [[2, 4]], {"valid": [[-1, 0]]})
        poisoned = with_mentions(kb, [[2, 4], [1, 3, 5]], {"valid": [[-1, 0]], "test": [[-1, 1]]})
        assert plain.digest != poisoned.digest
        one, other = (evaluate(scorer, each, "valid") for each in (plain, poisoned))
        assert one.summary() == other.summary()
        assert one.recall() == other.recall()
        assert one.leak == other.leak

    def test_things_of_one_name_change_nothing(self, random_kb, scorer_for):
        kb = random_kb()
        alone = [[entity] for entity in range(kb.n_entities)]
        ends = {split: kb.facts(split)[:, [0, 2]] for split in ("train", "valid", "test")}
        closed, opened = (
            evaluate(scorer_for(kb, values=6), each, "test") for each in (kb, with_mentions(kb, alone, ends))
        )
        for part in ("ranks", "retrieved", "fresh"):
            assert np.array_equal(getattr(closed, part).above, getattr(opened, part).above)
            assert np.array_equal(getattr(closed, part).tied, getattr(opened, part).tied)
        assert closed.leak == opened.leak

    def test_the_leak_is_found_with_mentions_too(self, random_kb, scorer_for):
        """All known answers with all their mentions have one score, and nobody else has."""
        kb = random_kb()
        pairs = [[2 * thing, 2 * thing + 1] for thing in range(kb.n_entities // 2)]
        ends = {split: kb.facts(split)[:, [0, 2]] // 2 for split in ("train", "valid", "test")}
        open_kb, scorer = with_mentions(kb, pairs, ends), scorer_for(kb)
        evaluate(scorer, open_kb, "test")
        known = open_kb.known("train", "valid", "test", mentions=True)
        queries, answers = known.queries, known.answers
        scorer.table[queries.relation[answers.rows], queries.entity[answers.rows], answers.values] = 9.0
        with pytest.raises(LeakError, match="made with the gold in hand"):
            evaluate(scorer, open_kb, "test")
