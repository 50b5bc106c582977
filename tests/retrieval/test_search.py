"""Top-k in blocks is the top k of a full sort, whatever the blocks; nobody tells it the gold."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cear.core.errors import ScoreError
from cear.core.types import NO_ENTITY, Candidates, Ints, Queries
from cear.data import KnowledgeBase, KnownAnswers
from cear.retrieval import ComplEx, RotatE, RowsEmbeddings, Scorer, TransE, search, top_k
from cear.retrieval.distances import Distance

N_RELATIONS = 2


class TableScorer(Scorer):
    """Reads its scores from a table, (entity, entity); the relation does not matter."""

    def __init__(self, table: torch.Tensor) -> None:
        super().__init__(len(table), N_RELATIONS)
        self.table = table
        self.largest = 0

    def score(self, facts: Ints) -> torch.Tensor:
        return self.table[facts[:, 0], facts[:, 2]]

    def score_all(self, queries: Queries, among: Ints | None = None) -> torch.Tensor:
        scores = self.table[torch.as_tensor(queries.entity)]
        scores = scores if among is None else scores[:, among]
        self.largest = max(self.largest, scores.numel())
        return scores

    def entity_moduli(self, entities: Ints) -> torch.Tensor:
        raise NotImplementedError

    def relation_moduli(self, relations: Ints) -> torch.Tensor:
        raise NotImplementedError


def distinct_scores(n_entities: int, seed: int) -> torch.Tensor:
    """No two entities tie, so that the right order is one order."""
    cells = np.random.default_rng(seed).permutation(n_entities**2).astype(np.float32)
    return torch.from_numpy(cells.reshape(n_entities, n_entities))


def ask_all(n_entities: int) -> Queries:
    return Queries(np.arange(n_entities), np.zeros(n_entities, np.int64))


def brute_force(table: torch.Tensor, k: int, drop: KnownAnswers | None = None) -> tuple[list[list[int]], np.ndarray]:
    scores = table.numpy().astype(np.float64).copy()
    if drop is not None:
        known = drop.of_queries(ask_all(len(table)))
        scores[known.rows, known.values] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(scores, order, axis=1)
    return np.where(np.isneginf(best), NO_ENTITY, order).tolist(), best


@pytest.fixture
def some_known() -> KnownAnswers:
    facts = np.random.default_rng(7).integers(0, [9, N_RELATIONS, 9], (30, 3))
    return KnownAnswers.of(facts, 9, N_RELATIONS)


@given(
    n_entities=st.integers(1, 14),
    k=st.integers(1, 16),
    rows=st.integers(1, 15),
    columns=st.integers(1, 15),
    seed=st.integers(0, 99),
    dropping=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_it_is_the_full_sort_for_any_block(
    n_entities: int, k: int, rows: int, columns: int, seed: int, dropping: bool
) -> None:
    table = distinct_scores(n_entities, seed)
    facts = np.random.default_rng(seed).integers(0, [n_entities, N_RELATIONS, n_entities], (20, 3))
    drop = KnownAnswers.of(facts, n_entities, N_RELATIONS) if dropping else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_block_shape", lambda *_, **__: (rows, columns))
        found = top_k(TableScorer(table), ask_all(n_entities), k, drop=drop)
    entities, scores = brute_force(table, min(k, n_entities), drop)
    padding = max(k - n_entities, 0)
    assert found.entities.tolist() == [row + [NO_ENTITY] * padding for row in entities]
    assert np.array_equal(found.scores[:, : k - padding], scores)
    assert np.isneginf(found.scores[:, k - padding :]).all()


@given(st.integers(1, 6), st.integers(1, 12), st.integers(1, 12))
@settings(max_examples=30, deadline=None)
def test_of_equal_scores_the_lower_number_is_first(values: int, k: int, columns: int) -> None:
    table = torch.from_numpy(np.random.default_rng(values).integers(0, values, (12, 12)).astype(np.float32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_block_shape", lambda *_, **__: (5, columns))
        found = top_k(TableScorer(table), ask_all(12), k)
    entities, scores = brute_force(table, k)
    assert np.array_equal(found.scores, scores)
    assert found.entities.tolist() == entities
    assert np.array_equal(np.take_along_axis(table.numpy(), found.entities, axis=1), found.scores)


def test_a_golden_case() -> None:
    table = torch.tensor([[0.1, 0.9, 0.5], [0.3, 0.2, 0.4], [0.0, 0.0, 1.0]])
    found = top_k(TableScorer(table), Queries(np.array([1, 0]), np.array([0, 1])), 2)
    assert found.entities.tolist() == [[2, 0], [1, 2]]
    np.testing.assert_allclose(found.scores, [[0.4, 0.3], [0.9, 0.5]])


class TestDrop:
    def test_no_known_answer_is_left_and_nobody_else_is_missing(self, some_known: KnownAnswers) -> None:
        queries = ask_all(9)
        found = top_k(TableScorer(distinct_scores(9, 0)), queries, 9, drop=some_known)
        for row, known in enumerate(rows_of(some_known, queries)):
            assert set(found.entities[row]) - {NO_ENTITY} == set(range(9)) - set(known)

    def test_a_short_list_is_padded(self) -> None:
        everything = KnownAnswers.of(np.array([[0, 0, 0], [0, 0, 1], [0, 0, 2]]), 3, N_RELATIONS)
        found = top_k(TableScorer(distinct_scores(3, 0)), ask_all(3)[:1], 2, drop=everything)
        assert found.entities.tolist() == [[NO_ENTITY, NO_ENTITY]]
        assert found.scores.tolist() == [[-np.inf, -np.inf]]

    def test_what_is_known_of_another_query_stays(self) -> None:
        other = KnownAnswers.of(np.array([[1, 0, 2]]), 3, N_RELATIONS)
        table = distinct_scores(3, 1)
        with_drop = top_k(TableScorer(table), ask_all(3)[:1], 3, drop=other)
        assert with_drop.entities.tolist() == top_k(TableScorer(table), ask_all(3)[:1], 3).entities.tolist()

    def test_the_scorer_keeps_its_scores(self, some_known: KnownAnswers) -> None:
        class Careless(TableScorer):
            def score_all(self, queries: Queries, among: Ints | None = None) -> torch.Tensor:
                assert (len(queries), among) == (9, None)
                return self.table  # its own memory, not a copy

        table = distinct_scores(9, 2)
        top_k(Careless(table), ask_all(9), 3, drop=some_known)
        assert torch.equal(table, distinct_scores(9, 2))


def rows_of(known: KnownAnswers, queries: Queries) -> Iterator[list[int]]:
    found = known.of_queries(queries)
    return (found.row(i).tolist() for i in range(len(found)))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_not_finite_is_refused(bad: float) -> None:
    table = distinct_scores(5, 0)
    table[3, 1] = bad
    with pytest.raises(ScoreError, match="not finite"):
        top_k(TableScorer(table), ask_all(5), 2)


@pytest.mark.parametrize("model", ["complex", "rotate, norm 1", "rotate, norm 2", "transe"])
def test_a_diverged_model_is_refused(model: str) -> None:
    rows = RowsEmbeddings(5, N_RELATIONS)
    scorer: Scorer = {
        "complex": lambda: ComplEx(rows, 2),
        "rotate, norm 1": lambda: RotatE(rows, 2, Distance(1, squared=False, complex_pairs=True)),
        "rotate, norm 2": lambda: RotatE(rows, 2, Distance(2, squared=False, complex_pairs=True)),
        "transe": lambda: TransE(rows, 2, Distance(1, squared=False, complex_pairs=False)),
    }[model]()
    with torch.no_grad():
        scorer.get_parameter("entity.weight")[2] = torch.nan
    with pytest.raises(ScoreError, match="not finite"):
        top_k(scorer, ask_all(5), 2)


def test_no_queries_give_no_lists() -> None:
    found = top_k(TableScorer(distinct_scores(4, 0)), ask_all(4)[:0], 3)
    assert (len(found), found.k) == (0, 3)


class TestAbove:
    @given(st.integers(1, 9), st.integers(1, 70), st.integers(0, 2**32 - 1))
    def test_it_has_all_that_is_above_and_nothing_else(self, rows: int, columns: int, seed: int) -> None:
        drawn = np.random.default_rng(seed).integers(0, 12, (rows, columns + 1))  # with ties
        scores, least = (torch.from_numpy(part).float() for part in (drawn[:, :-1], drawn[:, -1:]))
        values, places = search._above(scores, least)
        for row in range(rows):
            there = places[row] != NO_ENTITY
            assert sorted(places[row][there].tolist()) == torch.nonzero(scores[row] > least[row]).squeeze(-1).tolist()
            assert torch.equal(values[row][there], scores[row, places[row][there]])
            assert torch.isneginf(values[row][~there]).all()

    def test_only_what_may_count_is_sorted_once_the_lists_are_full(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes: list[int] = []
        above = search._above

        def watched(scores: torch.Tensor, least: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            found = above(scores, least)
            sizes.append(found[0].shape[1])
            return found

        monkeypatch.setattr(search, "_above", watched)
        monkeypatch.setattr(search, "_block_shape", lambda *_, **__: (60, 15))
        scorer = TableScorer(distinct_scores(60, 3))
        found = top_k(scorer, ask_all(60), 5)
        assert found.entities.tolist() == brute_force(scorer.table, 5)[0]
        assert len(sizes) == 3, "four blocks, the first of which fills the lists"
        assert max(sizes) < 15


class TestMemory:
    @pytest.mark.parametrize("n_queries", [1, 64, 5000])
    @pytest.mark.parametrize("n_entities", [1, 1000, 2_000_000])
    @pytest.mark.parametrize("memory_mb", [1, 64, 1024])
    @pytest.mark.parametrize("in_pieces", [True, False])
    def test_a_block_keeps_to_its_memory(
        self, n_queries: int, n_entities: int, memory_mb: int, in_pieces: bool
    ) -> None:
        rows, columns = search._block_shape(n_queries, n_entities, memory_mb, in_pieces=in_pieces)
        assert 4 * rows * columns <= memory_mb * 2**20
        assert 1 <= rows <= n_queries
        assert 1 <= columns <= n_entities

    def test_who_is_no_product_of_vectors_scores_everybody_while_64_queries_fit(self) -> None:
        assert search._block_shape(5000, 100_000, 256, in_pieces=False) == (671, 100_000)
        assert search._block_shape(5000, 100_000, 256, in_pieces=True) == (1024, 4096)
        assert search._block_shape(5000, 14_541, 256, in_pieces=True) == (4615, 14_541)

    @pytest.mark.parametrize("n_entities", [1000, 100_000, 2_000_000])
    def test_which_entities_are_multiplied_together_does_not_depend_on_the_queries(self, n_entities: int) -> None:
        assert len({search.product_shape(n, n_entities)[1] for n in (1, 10, 1024, 50_000)}) == 1

    def test_the_scorer_is_never_asked_for_more(self) -> None:
        scorer = TableScorer(distinct_scores(600, 0))
        found = top_k(scorer, ask_all(600), 5, memory_mb=1)
        assert scorer.largest * 4 <= 2**20 < 600 * 600 * 4
        assert found.entities.tolist() == brute_force(scorer.table, 5)[0]


def test_lists_of_a_trained_kind_of_scorer_agree_with_its_scores(towns: KnowledgeBase) -> None:
    scorer = ComplEx(RowsEmbeddings(towns.n_entities, towns.n_relations, scale=1.0), 4)
    queries = towns.queries("test")
    found: Candidates = top_k(scorer, queries, 7)
    best = scorer.score_all(queries).topk(7).indices.numpy()
    assert np.array_equal(found.entities, best)
    assert not torch.is_inference_mode_enabled()


def test_progress_counts_every_query() -> None:
    seen: list[int] = []

    class Bar:
        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def advance(self, steps: int = 1) -> None:
            seen.append(steps)

        def describe(self, text: str) -> None:
            pass

    top_k(TableScorer(distinct_scores(200, 0)), ask_all(200), 2, memory_mb=1, progress=lambda *_: Bar())
    assert sum(seen) == 200


def test_the_gold_is_not_an_argument() -> None:
    assert list(inspect.signature(top_k).parameters) == ["scorer", "queries", "k", "drop", "memory_mb", "progress"]
