"""A fact as a sequence: its tokens, its segments, its order, and that its score is its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from cear.core.context import HERE, Context
from cear.core.errors import ConfigError
from cear.core.types import Queries
from cear.data import KnowledgeBase, Vocabulary
from cear.retrieval import FactForms, FactReader, facts_of
from cear.retrieval.kg_bert.reader import EndsReader
from cear.texts import TokenBatch

FACTS = np.array([[3, 0, 28], [0, 2, 1], [24, 1, 4]])


class Seen(torch.nn.Module):
    """A network that keeps what it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[TokenBatch] = []

    def forward(self, batch: TokenBatch) -> torch.Tensor:
        self.batches.append(batch)
        return torch.zeros(len(batch.tokens), 1)


@pytest.fixture
def reader_of(towns: KnowledgeBase, encoder_of: Callable[..., str]) -> Callable[..., FactReader]:
    def make(family: str = "bert", kind: type[FactReader] = FactReader, **forms: Any) -> FactReader:
        settings = FactForms.model_validate({"form_tokens": 8} | forms)
        return kind(towns, settings, HERE, encoder=encoder_of(family), dropout=0.1)

    return make


def shown(reader: FactReader) -> TokenBatch:
    network = Seen()
    reader.model = network  # type: ignore[assignment]
    reader.logits(FACTS)
    return network.batches[0]


def test_a_fact_is_subject_relation_object_between_separators(reader_of: Callable[..., FactReader]) -> None:
    reader = reader_of()
    batch = shown(reader)
    words = reader.tokenizer.convert_ids_to_tokens(batch.tokens[0])
    assert words == ["[CLS]", "town", "3", "[SEP]", "lies", "in", "[SEP]", "country", "d", "[SEP]"]
    assert batch.segments[0].tolist() == [0] * 4 + [1] * 3 + [0] * 3
    assert batch.mask.sum(1).tolist() == reader.lengths(FACTS).tolist() == [10, 10, 10]


def test_the_ends_alone_have_a_segment_each(reader_of: Callable[..., FactReader]) -> None:
    reader = reader_of(kind=EndsReader)
    batch = shown(reader)
    words = reader.tokenizer.convert_ids_to_tokens(batch.tokens[0])
    assert words == ["[CLS]", "town", "3", "[SEP]", "country", "d", "[SEP]"]
    assert batch.segments[0].tolist() == [0] * 4 + [1] * 3


def test_the_candidate_of_a_head_query_is_the_subject() -> None:
    queries = Queries(np.array([4, 7]), np.array([0, 3 + 2]))
    assert facts_of(queries, np.array([9, 9]), 3).tolist() == [[4, 0, 9], [9, 2, 7]]


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet", "modernbert"])
def test_a_fact_has_one_score_whatever_is_read_with_it(reader_of: Callable[..., FactReader], family: str) -> None:
    reader = reader_of(family)
    facts = np.random.default_rng(0).integers([30, 3, 30], size=(60, 3))
    together = reader.read(facts)
    alone = np.concatenate([reader.read(facts[i : i + 1]) for i in range(len(facts))])
    np.testing.assert_allclose(alone, together, atol=1e-5)
    turned = reader.read(facts[:, ::-1] % [30, 3, 30])
    assert np.ptp(together) > 0.01
    assert not np.allclose(turned, together, atol=1e-3), "order counts"


def test_descriptions_are_read_where_they_are_asked_for(encoder_of: Callable[..., str]) -> None:
    entities = Vocabulary.from_ids("entity", ["a", "b"], names=["town 1", "town 2"], descriptions=["road to b", "c"])
    relations = Vocabulary.from_ids("relation", ["lies in"])
    kb = KnowledgeBase("two", entities, relations, {"train": np.array([[0, 0, 1]])})
    lengths = [
        int(FactReader(kb, FactForms(form_tokens=8, text=text), HERE, encoder=encoder_of(), dropout=0).lengths(fact)[0])
        for text in ("name", "description")  # type: ignore[arg-type]
        for fact in [np.array([[0, 0, 1]])]
    ]
    assert lengths == [10, 16], "a comma, three words and one"


def test_an_encoder_that_cannot_hold_a_fact_is_refused_with_what_fits(reader_of: Callable[..., FactReader]) -> None:
    with pytest.raises(ConfigError, match=r"reads 64 tokens, .* may have 67. Set form_tokens to at most 20"):
        reader_of(form_tokens=21)
    assert reader_of(form_tokens=20)


def test_in_bf16_scores_are_nearly_the_same(towns: KnowledgeBase, encoder_of: Callable[..., str]) -> None:
    exact, rough = (
        FactReader(towns, FactForms(form_tokens=8), Context(precision=p), encoder=encoder_of(), dropout=0.1).read(FACTS)
        for p in ("fp32", "bf16")  # type: ignore[arg-type]
    )
    assert exact.dtype == rough.dtype == np.float32
    assert 0 < np.abs(exact - rough).max() < 0.1 * np.abs(exact).max()
