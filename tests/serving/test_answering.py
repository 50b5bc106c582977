"""Questions of many clients in one pass get the answers that each alone would get."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from cear.core.types import Ints, Queries
from cear.ranking import Ranker
from cear.serving.answering import Answering, Question
from cear.serving.judging import Judging, judge_many
from cear.serving.remembering import Remembering, remembering

QUESTIONS = [
    Question("born_in", subject="p0"),
    Question("born_in", subject="Person 1", k=3),
    Question("works_for", object="firm3", k=5),
    Question("speaks", subject="p0", new=True),
    Question("born_in", subject="p0", k=1),
    Question("speaks", subject="p7", k=100),
    Question("works_for", object="firm3", k=5, new=True),
]


def asked_alone(run: Any, q: Question) -> Any:
    return run.ask(q.relation, subject=q.subject, object=q.object, k=q.k, new=q.new)


def assert_same(one: Any, other: Any) -> None:
    """The same answers in the same order, to the last bits of a product of matrices."""
    bare = [[replace(each, score=None, probability=None) for each in answers] for answers in (one, other)]
    assert bare[0] == bare[1]
    for ours, theirs in zip(one, other, strict=True):
        assert ours.score == pytest.approx(theirs.score, abs=1e-4)
        assert ours.probability == pytest.approx(theirs.probability, abs=1e-4)


def test_many_questions_have_the_answers_of_each(people_run: Any) -> None:
    together = Answering.of(people_run).answer_many(QUESTIONS)
    for question, answers in zip(QUESTIONS, together, strict=True):
        assert answers
        assert_same(answers, asked_alone(people_run, question))


def test_asked_again_they_are_the_same(people_run: Any) -> None:
    answering = Answering.of(people_run)
    first, again = (answering.answer_many(QUESTIONS[:3]) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert_same(one, other)
    assert (answering.tally.questions, answering.tally.passes) == (6, 2)


def test_no_question_is_no_answer(people_run: Any) -> None:
    assert Answering.of(people_run).answer_many([]) == []


def test_facts_of_many_are_judged_as_those_of_each(people_run: Any) -> None:
    facts = [("p0", "born_in", "city1"), ("p1", "speaks", "lang2"), ("p2", "works_for", "firm1")]
    wanted = [Judging((facts[0], facts[1])), Judging((facts[2],), why=True), Judging((facts[1],))]
    found = judge_many(people_run, wanted)
    assert [[row["subject"] for row in rows] for rows in found] == [["p0", "p1"], ["p2"], ["p1"]]
    assert found[0][1]["probability"] == found[2][0]["probability"]
    assert found[1][0]["reasons"]
    assert found[0][0]["reasons"] is None
    alone = people_run.judge([facts[0]])["probability"][0]
    assert found[0][0]["probability"] == pytest.approx(alone, abs=1e-4)


class Scores:
    """A retriever whose score is 100 · entity of the query + relation + entity; it counts what it is asked."""

    n_entities = 5

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def score_all(self, queries: Queries, among: Ints | None = None) -> torch.Tensor:
        assert among is None
        self.asked += zip(queries.entity.tolist(), queries.relation.tolist(), strict=True)
        base = torch.from_numpy(100 * queries.entity + queries.relation).float()
        return base[:, None] + torch.arange(5)[None]

    def score_candidates(self, queries: Queries, entities: Ints) -> torch.Tensor:
        raise NotImplementedError


def queries(*pairs: tuple[int, int]) -> Queries:
    return Queries(*np.array(pairs).T)


class TestRemembering:
    def test_a_query_is_asked_once(self) -> None:
        scores = Scores()
        kept = Remembering(scores)
        first = kept.score_all(queries((1, 0), (2, 1)))
        second = kept.score_all(queries((2, 1), (3, 0), (1, 0)))
        assert scores.asked == [(1, 0), (2, 1), (3, 0)]
        assert first[:, 0].tolist() == [100, 201]
        assert second[:, 4].tolist() == [205, 304, 104]
        assert kept.score_all(queries((1, 0)), np.array([4, 0])).tolist() == [[104, 100]]

    def test_what_was_used_longest_ago_is_forgotten_first(self) -> None:
        scores = Scores()
        kept = Remembering(scores, most_bytes=2 * 4 * 5)  # two rows of five floats
        for pair in [(1, 0), (2, 0), (1, 0), (3, 0), (1, 0), (2, 0)]:
            kept.score_all(queries(pair))
        assert scores.asked == [(1, 0), (2, 0), (3, 0), (2, 0)]

    def test_a_row_that_is_kept_keeps_no_other(self) -> None:
        """What is answered in one block goes with it: a popular query would else hold all that were asked beside it."""

        class Blocks(Scores):
            def score_all(self, queries: Queries, among: Ints | None = None) -> torch.Tensor:
                assert among is None
                block = np.zeros((len(queries), 5), np.float32)
                self.block = weakref.ref(block)
                return torch.from_numpy(block)

        scores = Blocks()
        kept = Remembering(scores)
        kept.score_all(queries((1, 0), (2, 0)))
        assert scores.block() is None
        assert kept.score_all(queries((2, 0))).tolist() == [[0.0] * 5]

    def test_whoever_changes_what_was_given_does_not_change_what_is_kept(self) -> None:
        kept = Remembering(Scores())
        kept.score_all(queries((1, 0))).zero_()
        assert kept.score_all(queries((1, 0)))[0, 0] == 100

    def test_a_ranker_that_remembers_ranks_the_same(self, people_run: Any) -> None:
        ranker: Ranker = people_run.ranker
        kept = remembering(ranker)
        asked = people_run.kb.known("valid").queries[:20]
        for _ in range(2):
            assert np.array_equal(kept.rank(asked, 10).entities, ranker.rank(asked, 10).entities)

    def test_a_list_is_read_once(self, people_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        ranker: Ranker = people_run.ranker
        kept, read = remembering(ranker), []
        real = type(ranker.reranker).rerank

        def counting(self: Any, lists: Any, **options: Any) -> Any:
            read.append(len(lists))
            return real(self, lists, **options)

        monkeypatch.setattr(type(ranker.reranker), "rerank", counting)
        asked = people_run.kb.known("valid").queries[:5]
        for some in (asked[:3], asked, asked):
            kept.rank(some, 10)
        assert read == [3, 2]

    def test_the_scores_of_too_many_entities_are_not_kept(
        self, people_run: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("cear.serving.remembering.scores_everybody", lambda n: n < 10)
        assert remembering(people_run.ranker).retrievers is people_run.ranker.retrievers
