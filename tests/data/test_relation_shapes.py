"""Cardinalities and look-alike relations, on facts small enough to check on paper."""

import numpy as np

from cear.data import cardinalities, stands_turned
from cear.data.relation_shapes import lookalikes, readable_from


def test_cardinality_by_the_mean_number_of_answers() -> None:
    facts = [
        *[(0, 0, 1), (2, 0, 3)],  # one object a subject, one subject an object
        *[(0, 1, 1), (0, 1, 2), (0, 1, 3)],  # three objects for one subject
        *[(1, 2, 0), (2, 2, 0), (3, 2, 0)],  # three subjects for one object
        *[(s, 3, o) for s in (0, 1) for o in (2, 3)],  # two each
        *[(0, 5, 1), (0, 5, 2), (1, 5, 3)],  # 3 facts of 2 subjects: 1.5 objects a subject is many
        *[(0, 6, 1), (0, 6, 2), (1, 6, 3), (2, 6, 4)],  # 4 of 3: 1.33 is one
    ]
    expected = {0: "1-1", 1: "1-n", 2: "n-1", 3: "n-n", 5: "1-n", 6: "1-1"}
    assert cardinalities(np.array(facts)) == expected


def test_a_repeated_fact_counts_once() -> None:
    assert cardinalities(np.array([(0, 0, 1), (0, 0, 1), (0, 0, 1)])) == {0: "1-1"}


def test_no_facts_no_cardinalities() -> None:
    assert cardinalities(np.zeros((0, 3), np.int64)) == {}


def _chain(relation: int, start: int, stop: int, *, turned: bool = False) -> list[tuple[int, int, int]]:
    return [(i + 1, relation, i) if turned else (i, relation, i + 1) for i in range(start, stop)]


def test_duplicates_and_inverses_share_most_pairs_on_both_sides() -> None:
    facts = [
        *_chain(0, 0, 10),
        *_chain(1, 0, 9),  # 9 of 10 in common with 0
        *_chain(2, 0, 10, turned=True),  # 0 turned round
        *_chain(3, 0, 30),  # holds all of 0, but 0 has only a third of it
        *_chain(4, 40, 44),
        *_chain(5, 40, 44),  # the same as 4, but only four facts
    ]
    found = lookalikes(np.array(facts), overlap=0.9)
    assert found.duplicates == ((0, 1),)
    assert found.inverses == ((0, 2), (1, 2))
    assert found.symmetric == ()
    assert lookalikes(np.array(facts), overlap=0.95).duplicates == ()
    assert lookalikes(np.array(facts), overlap=0.9, least_shared=4).duplicates == ((0, 1), (4, 5))


def test_a_symmetric_relation_is_its_own_inverse_and_loops_prove_nothing() -> None:
    both_ways = [*_chain(0, 0, 5), *_chain(0, 0, 5, turned=True)]
    loops = [(i, 1, i) for i in range(10)]
    found = lookalikes(np.array(both_ways + loops))
    assert (found.symmetric, found.inverses, found.duplicates) == ((0,), (), ())


def test_what_a_training_fact_gives_away() -> None:
    train = np.array([(0, 0, 1), (2, 1, 3), (4, 2, 5)])
    asked = np.array([(1, 1, 0), (0, 1, 1), (3, 0, 2), (5, 0, 4)])
    pairs = ((0, 1),)
    assert readable_from(asked, train, pairs, turned=True).tolist() == [[1, 1, 0], [3, 0, 2]]
    assert readable_from(asked, train, pairs, turned=False).tolist() == [[0, 1, 1]]
    assert readable_from(asked, train, (), turned=False).tolist() == []


def test_a_fact_stands_turned_by_its_own_relation_or_by_an_inverse_one() -> None:
    train = np.array([*_chain(0, 0, 10), *_chain(1, 0, 10, turned=True), *_chain(2, 0, 3), (8, 3, 9)])
    asked = np.array(
        [
            (3, 2, 2),  # ⟨2, 2, 3⟩ is in train
            (11, 0, 12),  # nobody knows these two
            (9, 1, 8),  # ⟨8, 0, 9⟩ is in train, and 0 is the inverse of 1
            (9, 2, 8),  # ⟨8, 0, 9⟩ is in train, but 0 is no inverse of 2
            (0, 2, 1),  # in train as it is, not turned
        ]
    )
    assert stands_turned(asked, train).tolist() == [True, False, True, False, False]
    assert stands_turned(asked, train[:0]).tolist() == [False] * 5
    assert stands_turned(asked[:0], train).tolist() == []
