"""Fusion: how much each stage counts, chosen by the number of known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cear.candidates import Lists, Manifest
from cear.core.types import NO_ENTITY, Candidates, Floats, Queries
from cear.data import KnowledgeBase, Vocabulary
from cear.reranking import STAGE2_ALONE, Fusion, choose_fusion
from cear.reranking.fusion import EDGES, bins, mix

MANIFEST = Manifest("toy", "digest", "valid", 3, "keep", "toy")
STAGE1_ALONE = Fusion((0.0,) * 6)


def lists_of(entities: list[list[int]], scores: list[list[float]], queries: Queries | None = None) -> Lists:
    asked = queries or Queries(np.arange(len(entities)), np.zeros(len(entities), np.int64))
    return Lists(asked, Candidates(np.array(entities), np.array(scores)), MANIFEST)


class TestMixing:
    def test_on_paper(self) -> None:
        # P₁ = 3/4, 1/4 and P₂ = 1/2, 1/2, a quarter of Stage 2.
        lists = lists_of([[5, 6]], [[math.log(3), 0.0]])
        mixed = mix(lists, np.array([[7.0, 7.0]]), np.array([0.25]))
        expected = [0.25 * math.log(1 / 2) + 0.75 * math.log(3 / 4), 0.25 * math.log(1 / 2) + 0.75 * math.log(1 / 4)]
        np.testing.assert_allclose(mixed[0], expected)

    def test_a_padded_place_stays_minus_infinity(self) -> None:
        lists = lists_of([[5, NO_ENTITY], [NO_ENTITY] * 2], [[1.0, -math.inf], [-math.inf] * 2])
        for weight in (0.0, 0.5, 1.0):
            mixed = mix(lists, np.array([[2.0, -math.inf], [-math.inf] * 2]), np.full(2, weight))
            assert mixed.tolist() == [[0.0, -math.inf], [-math.inf, -math.inf]]

    @given(st.lists(st.tuples(*[st.integers(-9, 9)] * 2), min_size=1, max_size=6, unique_by=lambda pair: pair[1]))
    def test_with_weight_0_it_is_stage_1_and_with_weight_1_stage_2(self, pairs: list[tuple[int, int]]) -> None:
        pairs = sorted(pairs, reverse=True)
        first, second = np.array([[a for a, _ in pairs]], float), np.array([[b for _, b in pairs]], float)
        lists = lists_of([list(range(len(pairs)))], first.tolist())
        alone = [mix(lists, second, np.array([weight]))[0] for weight in (0.0, 1.0)]
        for mine, its in zip(alone, (first[0], second[0]), strict=True):
            assert np.array_equal(mine[:, None] > mine, its[:, None] > its)


@pytest.fixture
def kb() -> KnowledgeBase:
    """Entity e has as many answers as `COUNTS[e]`, each to relation 0."""
    facts = [[e, 0, 300 + answer] for e, count in enumerate(COUNTS) for answer in range(count)]
    entities = Vocabulary.from_ids("entity", [f"e{i}" for i in range(400)])
    return KnowledgeBase("toy", entities, Vocabulary.from_ids("relation", ["r"]), {"train": np.array(facts)})


COUNTS = (0, 1, 2, 3, 4, 10, 11, 50, 51, 90)


def test_queries_are_binned_by_their_known_training_answers(kb: KnowledgeBase) -> None:
    lists = lists_of([[300]] * len(COUNTS), [[0.0]] * len(COUNTS))
    assert bins(lists, kb).tolist() == [0, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert len(EDGES) + 1 == 6 == len(STAGE2_ALONE.weights)


class TestFusion:
    def test_each_range_has_its_weight(self, kb: KnowledgeBase) -> None:
        lists = lists_of([[300, 301]] * 2, [[1.0, 0.0]] * 2, Queries(np.array([0, 9]), np.zeros(2, np.int64)))
        other_way = np.array([[0.0, 1.0]] * 2)
        fused = Fusion((1.0, 0.5, 0.5, 0.5, 0.5, 0.0)).fuse(lists, other_way, kb)
        assert fused.argmax(axis=1).tolist() == [1, 0], "Stage 2 for no answer, Stage 1 for ninety"

    def test_it_survives_json(self) -> None:
        fusion = Fusion((0.1, 0.2, 0.3, 0.4, 0.5, 0.6))
        assert Fusion(tuple(fusion.as_json()["weights"])) == fusion


class TestChoosing:
    """Stage 1 puts the gold first where answers are many, Stage 2 where they are few."""

    @staticmethod
    def case(few: int, many: int) -> tuple[Lists, Floats, Floats]:
        """Lists of two candidates, Stage 2's scores, and which of the two is right."""
        asked = Queries(np.array([1] * few + [9] * many), np.zeros(few + many, np.int64))
        lists = lists_of([[300, 301]] * (few + many), [[1.0, 0.0]] * (few + many), asked)
        return lists, np.array([[0.0, 1.0]] * (few + many)), np.array([1] * few + [0] * many)

    def choose(self, kb: KnowledgeBase, few: int, many: int) -> Fusion:
        lists, scores, right = self.case(few, many)
        return choose_fusion(lists, scores, kb, lambda final: (final.argmax(axis=1) == right).astype(float))

    def test_each_range_of_known_answers_gets_the_stage_that_is_right_there(self, kb: KnowledgeBase) -> None:
        weights = self.choose(kb, 60, 80).weights
        assert weights[1] > 0.5
        assert weights[5] == 0.0, "of equally good weights the smallest: trust Stage 1"

    def test_a_range_with_too_few_queries_takes_what_is_best_for_all(self, kb: KnowledgeBase) -> None:
        weights = self.choose(kb, 49, 80).weights
        assert set(weights) == {0.0}

    def test_ranges_that_no_query_is_in_do_so_too(self, kb: KnowledgeBase) -> None:
        weights = self.choose(kb, 60, 0).weights
        assert len(set(weights)) == 1
        assert weights[0] > 0.5
