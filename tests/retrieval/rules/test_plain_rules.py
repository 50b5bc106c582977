"""What other devices than the CPU compute is what the compiled loops compute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cear.core.context import HERE, Context
from cear.core.types import Queries
from cear.data import KnowledgeBase
from cear.retrieval import RuleRetriever, RulesConfig, RuleSettings, learn_rules, top_k
from cear.retrieval.rules import plain, retriever
from cear.retrieval.rules.config import KindWeights
from cear.retrieval.rules.rulebook import RuleBook

ENTITIES, RELATIONS = 8, 2
CLOSE = {"rtol": 1e-5, "atol": 1e-5}

facts = st.sets(st.tuples(*map(st.integers, (0, 0, 0), (ENTITIES - 1, RELATIONS - 1, ENTITIES - 1))), min_size=1)


@st.composite
def books(draw: st.DrawFn) -> RuleBook:
    """Rules of a few facts, put together in any way; every rule is kept."""
    config = RuleSettings(
        min_support=1,
        min_confidence=0,
        max_length=draw(st.integers(0, 3)),
        best=draw(st.sampled_from([1, 2, 10])),
        decay=draw(st.sampled_from([0.5, 1.0])),
        weights=KindWeights(attribute=draw(st.sampled_from([0.0, 1.0])), likeness=3, path=2),
        direct=draw(st.booleans()),
    )
    return learn_rules(np.array(sorted(draw(facts))), ENTITIES, RELATIONS, config)


def every_query() -> Queries:
    return Queries(np.tile(np.arange(ENTITIES), 2 * RELATIONS), np.repeat(np.arange(2 * RELATIONS), ENTITIES))


def plainly(book: RuleBook) -> RuleRetriever:
    """The retriever of another device, on the CPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retriever, "runs_kernels", lambda _: False)
        return RuleRetriever(book)


@pytest.mark.parametrize("at_once", [1, 7, 10**9], ids=["a look-up a part", "some", "all"])
@given(book=books())
@settings(max_examples=40, deadline=None)
def test_scores_of_all_are_those_of_the_kernel(at_once: int, book: RuleBook) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain, "_AT_ONCE", at_once)
        found = plainly(book).score_all(every_query())
    torch.testing.assert_close(found, RuleRetriever(book).score_all(every_query()), **CLOSE)


class TestOnTowns:
    @pytest.fixture
    def book(self, towns: KnowledgeBase) -> RuleBook:
        return learn_rules(towns.facts("train"), 30, 3, RuleSettings(min_support=1, max_length=3))

    def test_it_is_the_kernel_whatever_the_block(
        self, book: RuleBook, towns: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        queries = towns.queries("train")
        expected, together = RuleRetriever(book).score_all(queries), plainly(book).score_all(queries)
        torch.testing.assert_close(together, expected, **CLOSE)
        monkeypatch.setattr(plain, "rows_within", lambda _: 1)
        assert torch.equal(plainly(book).score_all(queries), together)

    def test_every_tensor_is_made_on_the_device_that_was_named(self, book: RuleBook, towns: KnowledgeBase) -> None:
        """One that is not would be made on the default device, and tensors of two devices do not add up."""
        queries = towns.queries("test")
        with torch.device("meta"):
            found = plainly(book).score_all(queries)
        torch.testing.assert_close(found, RuleRetriever(book).score_all(queries), **CLOSE)

    def test_some_entities_and_candidates_are_taken_from_all(self, book: RuleBook, towns: KnowledgeBase) -> None:
        queries, among = towns.queries("test"), np.array([2, 5, 19])
        found = plainly(book)
        every = found.score_all(queries)
        assert torch.equal(found.score_all(queries, among), every[:, among])
        rows = np.tile(among, (len(queries), 1))
        assert torch.equal(found.score_candidates(queries, rows), every[:, among])

    def test_it_can_be_searched(self, book: RuleBook, towns: KnowledgeBase) -> None:
        queries = towns.queries("test")
        one, other = (top_k(each, queries, 5).scores for each in (plainly(book), RuleRetriever(book)))
        np.testing.assert_allclose(one, other, **CLOSE)

    def test_a_run_has_it_where_its_device_is(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        config = RulesConfig(min_support=1)
        config.fit(towns, tmp_path, HERE)
        assert config.load(towns, tmp_path, Context(device="meta")).device.type == "meta"

    def test_no_queries_have_no_scores(self, book: RuleBook) -> None:
        nobody = np.zeros(0, np.int64)
        assert plainly(book).score_all(Queries(nobody, nobody)).shape == (0, 30)
