"""Similar facts where a subject has several objects, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cear.data import KnowledgeBase, Vocabulary
from cear.explaining.similar import SimilarFacts

ANN, BEN, TEA, CAKE, STRANGER = range(5)
LIKES = 0
EVERYTHING = [[ANN, 0, TEA], [ANN, 0, CAKE], [BEN, 0, TEA], [BEN, 0, CAKE]]


def similar(facts: list[list[int]]) -> SimilarFacts:
    entities = Vocabulary.from_ids("entity", ["Ann", "Ben", "tea", "cake", "stranger"])
    relations = Vocabulary.from_ids("relation", ["likes", "hates"])
    return SimilarFacts(KnowledgeBase("tastes", entities, relations, {"train": np.array(facts)}))


def test_both_ends_count_and_the_fact_itself_does_not() -> None:
    # Beside the fact in question Ann likes cake, and Ben likes cake and tea: one of two. So it is with tea and cake.
    found = similar(EVERYTHING).of(ANN, LIKES, TEA, 9)
    assert {each.fact: each.similarity for each in found} == {
        (ANN, LIKES, CAKE): pytest.approx(1 / 2),
        (BEN, LIKES, TEA): pytest.approx(1 / 2),
        (BEN, LIKES, CAKE): pytest.approx(1 / 4),
    }
    assert found[-1].fact == (BEN, LIKES, CAKE)


def test_a_fact_that_is_not_known_has_those_that_it_would_have_if_it_were() -> None:
    known, unknown = similar(EVERYTHING), similar(EVERYTHING[1:])
    assert [each.fact for each in unknown.of(ANN, LIKES, TEA, 9)] == [each.fact for each in known.of(ANN, 0, TEA, 9)]


def test_what_many_have_says_less() -> None:
    # Ann and Ben hate tea, and Ben and a stranger like cake: each weighs 1/log 3. Ben alone hates cake: 1/log 2.
    tastes = [[ANN, 1, TEA], [BEN, 1, TEA], [BEN, 1, CAKE], [BEN, 0, CAKE], [STRANGER, 0, CAKE]]
    (found,) = similar(tastes).of(ANN, LIKES, CAKE, 9)
    two, one = 1 / np.log(3), 1 / np.log(2)
    assert (found.fact, found.similarity) == ((BEN, LIKES, CAKE), pytest.approx(two / (two + two + one)))


def test_where_all_have_one_object_those_of_others_speak_for_none_of_theirs() -> None:
    # One fact makes "hates" look like a relation of one subject and one object: cake is taken.
    assert similar([[ANN, 0, TEA], [BEN, 0, TEA], [BEN, 1, CAKE]]).of(ANN, 1, CAKE, 9) == ()


@pytest.mark.parametrize("fact", [(STRANGER, LIKES, TEA), (ANN, LIKES, STRANGER), (ANN, 1, TEA)])
def test_where_nothing_is_alike_there_is_none(fact: tuple[int, int, int]) -> None:
    assert similar(EVERYTHING[:1]).of(*fact, 9) == ()
