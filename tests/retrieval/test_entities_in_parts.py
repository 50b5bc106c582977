"""Entities in parts: whoever has a slice finds its best, and together they find what one process finds, to the bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cear.core.errors import MismatchError
from cear.core.tensors import write_tensors
from cear.core.types import NO_ENTITY, Candidates, Queries
from cear.data import KnownAnswers
from cear.retrieval import ComplEx, EntityPart, InParts, MappedRows, RowsEmbeddings, slices_of, top_k
from cear.retrieval.parts import merged

N_ENTITIES, N_RELATIONS, RANK = 3000, 2, 5
SMALL = 1  # megabytes for scores: blocks of 256 entities


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The rows of a scorer; some entities are twins, which always tie."""
    scorer = ComplEx(RowsEmbeddings(N_ENTITIES, N_RELATIONS, scale=1.0, seed=3), RANK)
    weights = {name: value.detach().clone() for name, value in scorer.state_dict().items()}
    weights["entity.weight"][1000:2000] = weights["entity.weight"][:1000]
    write_tensors(tmp_path / "best.safetensors", weights)
    return tmp_path / "best.safetensors"


def in_parts(file: Path, n: int) -> InParts:
    slices = slices_of(N_ENTITIES, n, memory_mb=SMALL)
    parts = [EntityPart.mapped(file, "entity.weight", each, memory_mb=SMALL) for each in slices]
    return InParts(scorer_of(file), parts, memory_mb=SMALL)


def scorer_of(file: Path) -> ComplEx:
    return ComplEx(MappedRows(file), RANK)


def questions(n: int) -> Queries:
    random = np.random.default_rng(n)
    return Queries(random.integers(N_ENTITIES, size=n), random.integers(2 * N_RELATIONS, size=n))


@pytest.mark.parametrize("n_parts", [1, 2, 4, 100])
@pytest.mark.parametrize("n_queries", [0, 1, 1500])
def test_it_is_the_search_of_one_process_to_the_last_bit(file: Path, n_parts: int, n_queries: int) -> None:
    queries = questions(n_queries)
    one = top_k(scorer_of(file), queries, 50, memory_mb=SMALL)
    several = top_k(in_parts(file, n_parts), queries, 50)
    assert np.array_equal(one.entities, several.entities)
    assert one.scores.tobytes() == several.scores.tobytes()


def test_twins_stand_in_the_order_of_their_numbers(file: Path) -> None:
    found = top_k(in_parts(file, 3), questions(200), 50)
    twin = found.entities[:, 1:] == found.entities[:, :-1] + 1000
    assert twin.any()
    assert not (found.entities[:, 1:] == found.entities[:, :-1] - 1000).any()


def test_what_is_known_is_left_out_by_every_part(file: Path) -> None:
    queries = questions(30)
    best = top_k(in_parts(file, 3), queries, 2).entities[:, 0]
    facts = np.column_stack([queries.entity, queries.relation, best])[queries.relation < N_RELATIONS]
    drop = KnownAnswers.of(facts, N_ENTITIES, N_RELATIONS)
    one = top_k(scorer_of(file), queries, 20, drop=drop, memory_mb=SMALL)
    several = top_k(in_parts(file, 3), queries, 20, drop=drop)
    assert np.array_equal(one.entities, several.entities)
    assert not drop.of_queries(queries).contains(several.entities).any()


def test_given_entities_have_the_scores_of_the_scorer(file: Path) -> None:
    asked, entities = questions(5), np.arange(10).reshape(5, 2)
    scores = scorer_of(file).score_candidates(asked, entities)
    assert torch.equal(in_parts(file, 4).score_candidates(asked, entities), scores)
    assert torch.equal(in_parts(file, 4).score_all(asked, np.arange(3)), scorer_of(file).score_all(asked, np.arange(3)))


class TestSlices:
    @given(st.integers(1, 300_000), st.integers(1, 40))
    def test_they_cover_everybody_once_and_begin_with_a_block(self, n_entities: int, n_parts: int) -> None:
        slices = slices_of(n_entities, n_parts, memory_mb=SMALL)
        assert [each.start for each in slices] == [0, *(each.stop for each in slices[:-1])]
        assert slices[-1].stop == n_entities
        assert len(slices) <= n_parts
        assert all(each.start % 256 == 0 for each in slices)

    def test_no_part_has_many_more_than_the_others(self) -> None:
        sizes = [each.stop - each.start for each in slices_of(2_470_000, 4)]
        assert len(sizes) == 4
        assert max(sizes) - min(sizes) <= 4 * 4096


@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_merged_lists_are_the_sort_of_all_that_they_hold(n_parts: int, k: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    entities = random.permutation(n_parts * k).reshape(n_parts, 1, k)
    scores = random.integers(0, 3, (n_parts, 1, k)).astype(np.float32)
    found = merged([Candidates(*part) for part in zip(entities, scores, strict=True)], k)
    pairs = sorted(zip((-scores).ravel(), entities.ravel(), strict=True))[:k]
    assert found.entities[0].tolist() == [entity for _, entity in pairs]
    assert found.scores[0].tolist() == [-score for score, _ in pairs]


def test_short_lists_leave_padding_at_the_end() -> None:
    one = Candidates(np.array([[4, NO_ENTITY]]), np.array([[0.5, -np.inf]], np.float32))
    other = Candidates(np.array([[NO_ENTITY, NO_ENTITY]]), np.full((1, 2), -np.inf, np.float32))
    found = merged([one, other], 5)
    assert found.entities.tolist() == [[4, *[NO_ENTITY] * 4]]
    assert found.scores.tolist() == [[0.5, *[-np.inf] * 4]]


def test_rows_of_another_width_are_refused(file: Path) -> None:
    with pytest.raises(MismatchError, match="rows of width 10"):
        ComplEx(MappedRows(file), RANK + 1)
