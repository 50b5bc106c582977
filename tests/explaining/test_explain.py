"""Reasons on a knowledge base where all of them can be counted by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
import pytest

from cear.candidates import Lists
from cear.core.errors import MismatchError
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, Floats, Queries
from cear.data import KnowledgeBase
from cear.explaining import Reasons, explain
from cear.ranking import Ranker
from cear.reranking import Fusion

COPENHAGEN, ROSKILDE, KØGE, AARHUS, ZEALAND, JUTLAND, DENMARK, ROCKALL = range(8)
ON, IN = 0, 1
CONTAINS = IN + 2  # the reciprocal of `in country`

Make = Callable[..., Ranker]
Ask = Callable[..., Queries]


def why(ranker: Ranker, entity: int, relation: int, answer: int, **most: int) -> Reasons:
    (reasons,) = explain(ranker, Queries(np.array([entity]), np.array([relation])), np.array([answer]), **most)
    return reasons


@dataclass(frozen=True)
class Jealous:
    """A re-ranker that scores everybody 0, but `of` -1 as long as `rival` is in the list."""

    of: int
    rival: int

    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        del progress
        entities = lists.candidates.entities
        held_down = (entities == self.of) & (entities == self.rival).any(axis=1, keepdims=True)
        return np.where(entities == NO_ENTITY, -np.inf, np.where(held_down, -1.0, 0.0))


class TestGoldenCase:
    @pytest.fixture
    def køge(self, ranker_of: Make) -> Reasons:
        """Is Køge in Denmark? Shares of the list are 8 of 20 for Denmark, 4 for Jutland, 2 for Zealand and Rockall."""
        return why(ranker_of(), KØGE, IN, DENMARK)

    def test_the_rule_fired_with_the_fact_that_makes_it(self, køge: Reasons, isles: KnowledgeBase) -> None:
        (rule,) = køge.rules
        assert rule.describe(isles) == "in country(X, Denmark) <- on island(X, Zealand)  0.25 (2/3)"
        assert rule.facts(KØGE, DENMARK, 2) == ((KØGE, ON, ZEALAND),)

    def test_towns_on_the_same_island_support_it_and_aarhus_does_not(self, køge: Reasons) -> None:
        # Køge is on Zealand; Copenhagen and Roskilde are too, and in Denmark. As many have both attributes, they
        # weigh the same: one of two is shared. Aarhus shares nothing with Køge.
        assert [(each.fact, each.similarity) for each in køge.support] == [
            ((COPENHAGEN, IN, DENMARK), pytest.approx(1 / 2)),
            ((ROSKILDE, IN, DENMARK), pytest.approx(1 / 2)),
        ]

    def test_rivals_have_their_shares_and_free_them_when_they_go(self, køge: Reasons) -> None:
        assert [rival.entity for rival in køge.rivals] == [JUTLAND, ZEALAND, ROCKALL]
        assert [rival.log_probability for rival in køge.rivals] == pytest.approx([log(0.2), log(0.1), log(0.1)])
        assert [rival.answer_without for rival in køge.rivals] == pytest.approx([log(8 / 16), *[log(8 / 18)] * 2])
        assert [rival.effect for rival in køge.rivals] == pytest.approx([0, 0, 0], abs=1e-6)

    def test_it_stands_first_by_stage_1_alone(self, køge: Reasons) -> None:
        assert (køge.listed, køge.known, køge.place, køge.candidates) == (True, False, 1, 8)
        assert køge.log_probability == pytest.approx(log(8 / 20))
        assert køge.inputs == {"stage 1": pytest.approx(log(8 / 20) - log(1 / 8))}

    def test_the_sentence_says_so(self, køge: Reasons, isles: KnowledgeBase) -> None:
        assert køge.sentence(isles) == (
            "Køge is on island Zealand; in 2 of 3 known cases that goes with “… is in country Denmark”. "
            "It is ranked first, before Jutland, mostly by “stage 1”."
        )

    def test_json_has_ids_and_names(self, køge: Reasons, isles: KnowledgeBase) -> None:
        values = json.loads(json.dumps(køge.as_json(isles)))
        assert values["fact"]["subject"] == {"id": "e2", "name": "Køge"}
        assert values["rules"][0]["facts"][0]["object"] == {"id": "e4", "name": "Zealand"}
        assert values["support"][0]["subject"]["name"] == "Copenhagen"
        assert values["rivals"][0]["entity"]["name"] == "Jutland"
        assert (values["asked"], values["sentence"]) == ("object", køge.sentence(isles))

    def test_asked_from_the_other_end_the_fact_has_the_same_rule_and_support(
        self, køge: Reasons, ranker_of: Make, isles: KnowledgeBase
    ) -> None:
        turned = why(ranker_of(), DENMARK, CONTAINS, KØGE)
        assert turned.fact(isles) == køge.fact(isles) == (KØGE, IN, DENMARK)
        assert turned.support == køge.support
        assert turned.sentence(isles).startswith("Køge is on island Zealand; in 2 of 3 known cases")
        assert turned.as_json(isles)["asked"] == "subject"

    def test_there_are_no_more_reasons_than_asked_for(self, ranker_of: Make) -> None:
        few = why(ranker_of(), KØGE, IN, DENMARK, rules=0, support=1, rivals=2)
        assert (len(few.rules), len(few.support), len(few.rivals)) == (0, 1, 2)


class TestWhatTheyAreAskedAbout:
    def test_an_answer_outside_its_list_takes_the_last_place(self, ranker_of: Make) -> None:
        # The list of three is Denmark, Jutland and a third one, whose place Roskilde takes: 8, 4 and 1.
        outside = why(ranker_of(k=3), KØGE, IN, ROSKILDE)
        assert (outside.listed, outside.known, outside.candidates, outside.place) == (False, False, 3, 3)
        assert outside.log_probability == pytest.approx(log(1 / 13))

    def test_a_known_fact_is_judged_without_itself(self, ranker_of: Make, isles: KnowledgeBase) -> None:
        known = why(ranker_of(), ROSKILDE, IN, DENMARK)
        assert (known.known, known.listed) == (True, False)
        assert (ROSKILDE, IN, DENMARK) not in [each.fact for each in known.support]
        # Copenhagen is on Zealand and in Denmark; what Roskilde has beside the fact in question is one of the two.
        assert known.support[0].similarity == pytest.approx(1 / 2)
        assert "known already" in known.sentence(isles)

    def test_another_object_of_a_subject_that_has_one_is_no_support(self, ranker_of: Make) -> None:
        # A town is in one country: that Aarhus is in Denmark does not speak for Aarhus in Zealand.
        assert AARHUS not in [each.subject for each in why(ranker_of(), AARHUS, IN, ZEALAND, support=9).support]

    @pytest.mark.parametrize(("entity", "answer"), [(ROCKALL, DENMARK), (KØGE, ROCKALL), (ROCKALL, ROCKALL)])
    def test_entities_without_facts_have_no_rule_and_no_support(
        self, ranker_of: Make, isles: KnowledgeBase, entity: int, answer: int
    ) -> None:
        for relation in range(4):
            reasons = why(ranker_of(), entity, relation, answer)
            assert (reasons.rules, reasons.support) == ((), ())
            assert reasons.sentence(isles).startswith("No rule and no similar fact speaks for it. It is ranked")

    def test_order_and_batch_do_not_matter(self, ranker_of: Make, ask: Ask) -> None:
        ranker = ranker_of(reranker=Jealous(DENMARK, JUTLAND), fusion=Fusion((0.5,) * 6))
        pairs = [(KØGE, IN), (DENMARK, CONTAINS), (KØGE, IN), (ROCKALL, ON)]
        answers = np.array([DENMARK, KØGE, ZEALAND, JUTLAND])
        together, turned = explain(ranker, ask(*pairs), answers), explain(ranker, ask(*pairs[::-1]), answers[::-1])
        alone = [why(ranker, *pair, answer) for pair, answer in zip(pairs, answers.tolist(), strict=True)]
        assert together == turned[::-1] == alone

    def test_nothing_asked_is_nothing_explained(self, ranker_of: Make, ask: Ask) -> None:
        assert explain(ranker_of(), ask(), np.zeros(0, np.int64)) == []

    @pytest.mark.parametrize("answers", [[1, 2], [[1]], [8], [NO_ENTITY]])
    def test_answers_that_cannot_be_are_refused(self, ranker_of: Make, ask: Ask, answers: Any) -> None:
        with pytest.raises(MismatchError, match=r"one for each|no entities of 'isles'"):
            explain(ranker_of(), ask((KØGE, IN)), np.array(answers))


class TestCrossEntityEffect:
    def test_a_rival_that_holds_the_answer_down_is_found_out(self, ranker_of: Make) -> None:
        reasons = why(ranker_of(k=8, reranker=Jealous(DENMARK, JUTLAND)), KØGE, IN, DENMARK, rivals=7)
        effects = {rival.entity: rival.effect for rival in reasons.rivals}
        # With Jutland Denmark has e⁻¹ of e⁻¹ + 7; without, it has 1 of 7. Had nothing changed, it had e⁻¹ of e⁻¹ + 6.
        assert reasons.log_probability == pytest.approx(log(exp(-1) / (exp(-1) + 7)))
        assert effects.pop(JUTLAND) == pytest.approx(log(1 / 7) - log(exp(-1) / (exp(-1) + 6)))
        assert [*effects.values()] == pytest.approx([0] * 6)


class TestInputsOfAnyReranker:
    def test_the_fusion_tells_how_much_each_stage_moved_it(self, ranker_of: Make) -> None:
        # Half of each: Denmark has √8 · e^(-1/2) beside √4, twice √2 and four times 1.
        ranker = ranker_of(reranker=Jealous(DENMARK, JUTLAND), fusion=Fusion((0.5,) * 6))
        reasons = why(ranker, KØGE, IN, DENMARK)
        others, own = 2 + 2 * 2**0.5 + 4, 8**0.5
        whole = log(own * exp(-0.5) / (own * exp(-0.5) + others))
        assert reasons.log_probability == pytest.approx(whole)
        assert reasons.inputs == {
            "stage 1": pytest.approx(whole - log(exp(-0.5) / (exp(-0.5) + 7))),
            "stage 2": pytest.approx(whole - log(own / (own + others))),
        }
