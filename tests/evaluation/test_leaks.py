"""The equal-score leak: caught where it is, silent where it is not."""

import numpy as np
import pytest
import torch

from cear.core.errors import LeakError
from cear.core.types import NO_ENTITY, SPLITS, Candidates
from cear.evaluation import evaluate, find_equal_score_leak, rank, refuse_leaks


def leak_into(scores, gold, known):
    """The double of the leak: the slot of every known answer holds the gold's score, before any filter."""
    leaked = scores.clone()
    rows = torch.as_tensor(known.rows)
    leaked[rows, torch.as_tensor(known.values)] = scores[rows, torch.as_tensor(gold[known.rows])]
    return leaked


def top_k(scores, k):
    best = scores.topk(k, dim=1)
    return Candidates(best.indices.numpy(), best.values.numpy())


def know(scorer, known):
    """Give all these answers one high score."""
    queries, answers = known.queries, known.answers
    scorer.table[queries.relation[answers.rows], queries.entity[answers.rows], answers.values] = 9.0


@pytest.fixture
def asked(random_kb):
    kb = random_kb(n_entities=60, n_facts=900)
    queries = kb.queries("test")
    return kb, queries, kb.gold("test"), kb.known(*SPLITS).of_queries(queries)


def honest_scores(kb, queries, kind):
    """Scores that know nothing of the test facts, in several kinds of ties."""
    rng = np.random.default_rng(1)
    shape = (len(queries), kb.n_entities)
    train = np.zeros((2 * kb.n_relations, kb.n_entities, kb.n_entities), np.float32)
    known = kb.known("train")
    train[
        known.queries.relation[known.answers.rows], known.queries.entity[known.answers.rows], known.answers.values
    ] = 1
    popularity = train.sum(axis=1)[queries.relation]
    return torch.from_numpy(
        {
            "real numbers": rng.normal(size=shape),
            "all the same": np.zeros(shape),
            "few integers": rng.integers(0, 5, shape),
            "yes or no": rng.integers(0, 2, shape),
            "counts of training facts": popularity,
            "memory of training facts": train[queries.relation, queries.entity],
        }[kind].astype(np.float32)
    )


HONEST = [
    "real numbers",
    "all the same",
    "few integers",
    "yes or no",
    "counts of training facts",
    "memory of training facts",
]


@pytest.mark.parametrize("kind", HONEST)
def test_honest_scores_and_lists_pass(asked, kind):
    kb, queries, gold, known = asked
    scores = honest_scores(kb, queries, kind)
    for ranked in (scores, top_k(scores, 20)):
        report = find_equal_score_leak(ranked, gold, known)
        assert report.checked > 50, "the check must have had something to look at"
        refuse_leaks(report)


def test_a_plausible_scorer_with_ties_passes(asked):
    """Right about nine answers in ten, wrong about one stranger in ten: the gold ties with strangers too."""
    kb, queries, gold, known = asked
    rng = np.random.default_rng(2)
    yes = rng.random((len(queries), kb.n_entities)) < 0.1
    yes[known.rows, known.values] = rng.random(len(known.values)) < 0.9
    assert not find_equal_score_leak(torch.from_numpy(yes.astype(np.float32)), gold, known).leaks


def test_a_twin_of_the_gold_is_no_leak(asked):
    """One known answer that no scorer can tell from the gold; the other known answers stand elsewhere."""
    kb, queries, gold, known = asked
    scores = honest_scores(kb, queries, "real numbers")
    for row, answer in enumerate(gold.tolist()):
        twin = next((other for other in known.row(row).tolist() if other != answer), answer)
        scores[row, twin] = scores[row, answer]
    report = find_equal_score_leak(scores, gold, known)
    several = (known.counts > 2).sum()
    assert report.marked == report.checked - several
    assert several > 0.75 * report.checked
    assert not report.leaks


def test_the_leak_is_found_in_scores(asked):
    kb, queries, gold, known = asked
    leaked = leak_into(honest_scores(kb, queries, "real numbers"), gold, known)
    report = find_equal_score_leak(leaked, gold, known)
    assert report.marked == report.checked > 50
    with pytest.raises(LeakError, match=rf"In {report.marked} of {report.checked} queries \(100%\)"):
        refuse_leaks(report)


def test_the_leak_is_found_in_lists_even_when_the_block_is_cut(asked):
    kb, queries, gold, known = asked
    leaked = leak_into(honest_scores(kb, queries, "real numbers"), gold, known)
    report = find_equal_score_leak(top_k(leaked, 20), gold, known)
    assert 0 < report.checked < report.queries, "queries whose gold is not in the list have nothing to show"
    assert report.share > 0.9
    with pytest.raises(LeakError):
        refuse_leaks(report)


def test_the_filtered_rank_of_the_leaked_scores_is_what_it_was(asked):
    """Why nobody noticed: the figures of stage 1 do not move."""
    kb, queries, gold, known = asked
    scores = honest_scores(kb, queries, "real numbers")
    honest, leaked = (rank(s, gold, known) for s in (scores, leak_into(scores, gold, known)))
    assert np.array_equal(honest.above, leaked.above)
    assert np.array_equal(honest.tied, leaked.tied)


def test_padding_of_short_lists_is_nobody(asked):
    kb, queries, gold, known = asked
    lists = top_k(leak_into(honest_scores(kb, queries, "real numbers"), gold, known), 20)
    padded = Candidates(
        np.pad(lists.entities, ((0, 0), (0, 3)), constant_values=NO_ENTITY),
        np.pad(lists.scores, ((0, 0), (0, 3)), constant_values=-np.inf),
    )
    assert find_equal_score_leak(padded, gold, known) == find_equal_score_leak(lists, gold, known)


def test_a_handful_of_queries_is_no_evidence(asked):
    kb, queries, gold, _ = asked
    few, gold = queries[:5], gold[:5]
    known = kb.known(*SPLITS).of_queries(few)
    report = find_equal_score_leak(leak_into(honest_scores(kb, few, "real numbers"), gold, known), gold, known)
    assert report.marked > 0
    assert not report.leaks


class TestOnTheWay:
    """`evaluate` looks for the leak by itself: here a scorer that has looked up all answers, test facts too."""

    @pytest.fixture
    def oracle(self, random_kb, scorer_for):
        kb = random_kb()
        scorer = scorer_for(kb)
        know(scorer, kb.known(*SPLITS))
        return kb, scorer

    def test_it_refuses(self, oracle):
        kb, scorer = oracle
        with pytest.raises(LeakError, match="made with the gold in hand"):
            evaluate(scorer, kb, "test")

    def test_it_reports_when_asked_not_to_refuse(self, oracle):
        kb, scorer = oracle
        report = evaluate(scorer, kb, "test", refuse_leaking=False).leak
        queries = kb.queries("test")
        direct = find_equal_score_leak(
            scorer.score_all(queries), kb.gold("test"), kb.known(*SPLITS).of_queries(queries)
        )
        assert report == direct
        assert report.share == 1.0

    def test_a_model_may_know_its_training_facts_by_heart(self, random_kb, scorer_for):
        kb = random_kb()
        scorer = scorer_for(kb)
        know(scorer, kb.known("train"))
        evaluation = evaluate(scorer, kb, "train")
        assert evaluation.leak.leaks, "it looks the same, but there is nothing to give away"
        assert evaluation.summary()["both"]["mrr"] == 1.0
