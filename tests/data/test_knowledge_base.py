"""The knowledge base: facts, questions, known answers, digest."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cear.core.errors import DataError
from cear.core.types import Ints, Queries, Ragged
from cear.data import KnowledgeBase, KnownAnswers, Mentions, Vocabulary
from cear.data.vocabulary import SCHEMA

N, R = 5, 3
LINKED = np.array([[-1, 0]])  # the object of the only fact is thing 0
facts_lists = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, R - 1), st.integers(0, N - 1)), max_size=30)


def knowledge_base(facts: list[tuple[int, int, int]], **splits: list[tuple[int, int, int]]) -> KnowledgeBase:
    entities = Vocabulary.from_ids("entity", [f"e{i}" for i in range(N)])
    relations = Vocabulary.from_ids("relation", [f"r{i}" for i in range(R)])
    arrays = {name: np.array(rows).reshape(-1, 3) for name, rows in {"train": facts, **splits}.items()}
    return KnowledgeBase("toy", entities, relations, arrays)  # type: ignore[arg-type]


def test_every_fact_asks_for_its_tail_and_then_for_its_head() -> None:
    kb = knowledge_base([(0, 1, 2), (3, 0, 4)])
    queries = kb.queries("train")
    assert queries.entity.tolist() == [0, 3, 2, 4]
    assert queries.relation.tolist() == [1, 0, 1 + R, 0 + R]
    assert kb.gold("train").tolist() == [2, 4, 0, 3]
    assert kb.asks_head(queries).tolist() == [False, False, True, True]


def test_a_fact_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(DataError, match="A train fact of 'toy' names an entity or relation outside"):
        knowledge_base([(0, R, 1)])


def test_facts_cannot_be_changed_from_outside() -> None:
    given_facts = np.array([[0, 0, 1]])
    kb = KnowledgeBase("toy", *_vocabularies(), {"train": given_facts})
    given_facts[0, 0] = 4
    assert kb.facts("train").tolist() == [[0, 0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        kb.facts("train")[0, 0] = 4


@given(facts_lists)
def test_known_answers_are_those_that_a_loop_finds(facts: list[tuple[int, int, int]]) -> None:
    known = knowledge_base(facts).known("train")
    queries = Queries(np.tile(np.arange(N), 2 * R), np.repeat(np.arange(2 * R), N))
    found = known.of_queries(queries)
    for index, (entity, relation) in enumerate(zip(queries.entity, queries.relation, strict=True)):
        tails = {o for s, r, o in facts if (s, r) == (entity, relation)}
        heads = {s for s, r, o in facts if (o, r + R) == (entity, relation)}
        assert found.row(index).tolist() == sorted(tails | heads)


@given(facts_lists)
def test_the_distinct_queries_cover_every_answer_once(facts: list[tuple[int, int, int]]) -> None:
    known = knowledge_base(facts).known("train")
    assert (
        len(known.queries)
        == len(known.answers)
        == len({(s, r) for s, r, _ in facts}) + len({(r, o) for _, r, o in facts})
    )
    assert len(known.answers.values) == 2 * len(set(facts))


@given(facts_lists, facts_lists)
def test_known_answers_of_two_splits_are_those_of_their_facts_in_one(
    train: list[tuple[int, int, int]], valid: list[tuple[int, int, int]]
) -> None:
    joined, one = (
        knowledge_base(train, valid=valid).known("train", "valid"),
        knowledge_base(train + valid).known("train"),
    )
    queries = Queries(np.tile(np.arange(N), 2 * R), np.repeat(np.arange(2 * R), N))
    for found, expected in ((joined.of_queries(queries), one.of_queries(queries)), (joined.answers, one.answers)):
        assert found.offsets.tolist() == expected.offsets.tolist()
        assert found.values.tolist() == expected.values.tolist()
    assert joined.queries.relation.tolist() == one.queries.relation.tolist()
    assert joined.queries.entity.tolist() == one.queries.entity.tolist()


def test_known_answers_of_a_vocabulary_too_large_for_one_number() -> None:
    n_entities, n_relations = 3_000_000_000, 10
    facts = np.array([[2_999_999_999, 9, 5], [2_999_999_999, 9, 4], [2_999_999_999, 9, 5], [7, 9, 5]])
    known = KnownAnswers.of(facts, n_entities, n_relations)
    found = known.of_queries(Queries(np.array([2_999_999_999, 5]), np.array([9, 9 + n_relations])))
    assert [found.row(0).tolist(), found.row(1).tolist()] == [[4, 5], [7, 2_999_999_999]]


def test_known_answers_read_only_the_splits_they_are_told() -> None:
    kb = knowledge_base([(0, 0, 1)], test=[(0, 0, 2)])
    query = Queries(np.array([0]), np.array([0]))
    assert kb.known("train").of_queries(query).row(0).tolist() == [1]
    assert kb.known("train", "test").of_queries(query).row(0).tolist() == [1, 2]


def test_the_digest_is_of_the_content_and_not_of_the_name() -> None:
    facts = {"train": np.array([[0, 0, 1]])}
    assert KnowledgeBase("a", *_vocabularies(), facts).digest == KnowledgeBase("b", *_vocabularies(), facts).digest  # type: ignore[arg-type]


def test_the_digest_stays_the_same_between_versions() -> None:
    # Saved files name the digest of their data: another one here would orphan all of them.
    known = "e70a3ea6d8385bf8cca8957957e618b50c4c498ef46fbe08420ebecf29ce10ab"
    assert knowledge_base([(0, 0, 1)]).digest == known


def _vocabularies(**columns: list[object]) -> tuple[Vocabulary, Vocabulary]:
    entities = Vocabulary.from_ids("entity", ["a", "b", "c"])
    if columns:
        new = [pl.Series(name, values, dtype=SCHEMA[name]) for name, values in columns.items()]
        entities = Vocabulary("entity", entities.table.with_columns(new))
    return entities, Vocabulary.from_ids("relation", ["r"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"name": ["ab", "c", "x"]}, {"name": ["a", "bc", "x"]}),
        ({"description": ["", None, None]}, {"description": [None, None, None]}),
        ({"description": [None, "a", None]}, {"description": ["a", None, None]}),
        ({"name": ["x", "y", "z"]}, {"description": ["x", "y", "z"]}),
    ],
)
def test_the_digest_tells_apart(one: dict[str, list[object]], other: dict[str, list[object]]) -> None:
    facts: dict[str, Ints] = {}
    first = KnowledgeBase("kb", *_vocabularies(**one), facts)  # type: ignore[arg-type]
    second = KnowledgeBase("kb", *_vocabularies(**other), facts)  # type: ignore[arg-type]
    assert first.digest != second.digest


def test_the_digest_tells_splits_apart() -> None:
    assert knowledge_base([(0, 0, 1)]).digest != knowledge_base([], valid=[(0, 0, 1)]).digest


class TestKnownOnce:
    """Sorting the answers of a large knowledge base takes a second; it never changes, so once is enough."""

    def test_known_answers_are_made_once_for_the_same_splits(self) -> None:
        kb = knowledge_base([(0, 0, 1)], test=[(0, 0, 2)])
        assert kb.known("train") is kb.known("train")
        assert kb.known("train", "test") is kb.known("test", "train"), "the order of splits says nothing"
        assert kb.known("train") is not kb.known("train", "test")

    def test_mentions_are_known_apart_where_there_are_any(self) -> None:
        kb = knowledge_base([(0, 0, 1)])
        assert kb.known("train", mentions=True) is kb.known("train")
        things = Ragged.of([[1, 2]])
        linked = KnowledgeBase(
            "toy", *_vocabularies(), {"train": kb.facts("train")}, Mentions(things, {"train": LINKED})
        )
        query = Queries(np.array([0]), np.array([0]))
        both = [
            linked.known("train", mentions=mentions).of_queries(query).row(0).tolist() for mentions in (False, True)
        ]
        assert both == [[1], [1, 2]]
        measured, learned = linked.known("train", mentions=True), linked.known("train")
        assert linked.known("train", mentions=True) is measured
        linked.known("train", "test", mentions=True)
        assert linked.known("train", mentions=True) is measured, "splits together share what each has"
        assert linked.known("train") is learned

    def test_without_other_mentions_of_its_facts_a_split_is_known_once(self) -> None:
        mentioned = Mentions(Ragged.of([[1, 2]]), {"valid": LINKED})
        kb = knowledge_base([(0, 0, 1)], valid=[(0, 0, 1)])
        linked = KnowledgeBase("toy", *_vocabularies(), {s: kb.facts(s) for s in ("train", "valid")}, mentioned)
        assert linked.known("train", mentions=True) is linked.known("train")
        assert linked.known("valid", mentions=True) is not linked.known("valid")

    def test_another_knowledge_base_knows_its_own(self) -> None:
        assert knowledge_base([(0, 0, 1)]).known("train") is not knowledge_base([(0, 0, 1)]).known("train")
