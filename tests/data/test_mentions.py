"""Several names for one thing: golds, known answers and digests of open knowledge bases."""

from collections.abc import Mapping

import numpy as np
import pytest

from cear.core.errors import DataError
from cear.core.types import Queries, Ragged, Split
from cear.data import KnowledgeBase, Mentions, Vocabulary

# Entities 0 to 5; train ⟨0, r, 1⟩, test ⟨0, r, 2⟩ and ⟨0, r, 4⟩. Things: {1, 5}, {2, 3}, {3, 4}; 3 is ambiguous.
THINGS = Ragged(np.array([0, 2, 4, 6]), np.array([1, 5, 2, 3, 3, 4]))
LINKS: dict[Split, list[tuple[int, int]]] = {"train": [(-1, 0)], "test": [(-1, 1), (-1, 2)]}


def open_kb(links: Mapping[Split, list[tuple[int, int]]] = LINKS, things: Ragged = THINGS) -> KnowledgeBase:
    splits: dict[Split, np.ndarray] = {"train": np.array([[0, 0, 1]]), "test": np.array([[0, 0, 2], [0, 0, 4]])}
    entities = Vocabulary.from_ids("entity", list("abcdef"))
    ends = {split: np.array(rows) for split, rows in links.items()}
    return KnowledgeBase("open", entities, Vocabulary.from_ids("relation", ["r"]), splits, Mentions(things, ends))


def rows(ragged: Ragged) -> list[list[int]]:
    return [ragged.row(index).tolist() for index in range(len(ragged))]


def test_the_gold_of_a_query_is_every_mention_of_what_its_fact_means() -> None:
    # Both tails first, then both heads, as the queries are.
    assert rows(open_kb().gold_mentions("test")) == [[2, 3], [3, 4], [0], [0]]
    assert open_kb().gold("test").tolist() == [2, 4, 0, 0]


def test_a_split_without_links_and_a_closed_knowledge_base_have_the_gold_alone() -> None:
    kb = open_kb({"test": LINKS["test"]})
    assert rows(kb.gold_mentions("train")) == [[1], [0]]
    closed = KnowledgeBase("closed", kb.entities, kb.relations, {"test": kb.facts("test")})
    assert rows(closed.gold_mentions("test")) == [[2], [4], [0], [0]]


def test_known_answers_come_with_their_mentions_on_request_only() -> None:
    kb, query = open_kb(), Queries(np.array([0]), np.array([0]))
    assert kb.known("train", "test").of_queries(query).row(0).tolist() == [1, 2, 4]
    assert kb.known("train", mentions=True).of_queries(query).row(0).tolist() == [1, 5]
    assert kb.known("train", "test", mentions=True).of_queries(query).row(0).tolist() == [1, 2, 3, 4, 5]


def test_training_answers_know_no_mentions() -> None:
    """What a model learns from: no cluster may widen it."""
    closed = KnowledgeBase("closed", open_kb().entities, open_kb().relations, {"train": open_kb().facts("train")})
    learned, plain = open_kb().known("train"), closed.known("train")
    assert rows(learned.answers) == rows(plain.answers) == [[1], [0]]


def test_the_digest_tells_mentions_apart() -> None:
    other_links = {**LINKS, "test": [(-1, 1), (-1, -1)]}
    other_things = Ragged(np.array([0, 2, 4, 6]), np.array([1, 4, 2, 3, 3, 4]))
    kb = open_kb()
    closed = KnowledgeBase("c", kb.entities, kb.relations, {s: kb.facts(s) for s in ("train", "test")})  # type: ignore[misc]
    digests = [kb.digest, closed.digest, open_kb(other_links).digest, open_kb(things=other_things).digest]
    assert len(set(digests)) == 4
    assert kb.digest == open_kb().digest


@pytest.mark.parametrize(
    ("links", "things", "message"),
    [
        ({"test": [(-1, 1)]}, THINGS, r"2 test facts have links of shape \(1, 2\)"),
        ({"test": [(-1, 1), (-1, 3)]}, THINGS, "linked to a thing outside the 3"),
        ({"test": [(-1, 1), (-1, 0)]}, THINGS, r"entity 4 of test fact 1 is not a mention of the thing 0.*\[1, 5\]"),
        (LINKS, Ragged(THINGS.offsets, THINGS.values + 1), "Mentions go from 2 to 6, but there are 6 entities"),
    ],
)
def test_links_that_cannot_be_are_refused(
    links: Mapping[Split, list[tuple[int, int]]], things: Ragged, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        open_kb(links, things)
