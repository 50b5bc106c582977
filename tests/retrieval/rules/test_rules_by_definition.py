"""The fast code against the definitions, written with sets and as slow as they read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from math import log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cear.core.types import Queries
from cear.retrieval.rules import RuleRetriever, RuleSettings, learn_rules
from cear.retrieval.rules.config import KindWeights

Fact = tuple[int, int, int]
Attribute = tuple[int, int]  # (c, ρ): ρ(c, X) holds

ENTITIES, RELATIONS = 6, 2

graphs = st.sets(st.tuples(*map(st.integers, (0, 0, 0), (ENTITIES - 1, RELATIONS - 1, ENTITIES - 1))), min_size=1).map(
    sorted
)


class ByDefinition:
    """Rules and scores of a handful of facts."""

    def __init__(self, facts: list[Fact], *, length: int) -> None:
        self.facts = {(s, r, o) for s, r, o in facts} | {(o, r + RELATIONS, s) for s, r, o in facts}
        self.members: dict[Attribute, set[int]] = {}
        for s, r, o in self.facts:
            self.members.setdefault((s, r), set()).add(o)
        self.length = length
        self.attribute_rules = self._attribute_rules()
        self.path_rules = self._path_rules()

    def _attribute_rules(self) -> dict[tuple[Attribute, Attribute], tuple[int, int]]:
        """Support and body count of each (head, body) that an entity bears out."""
        return {
            (head, body): (len(having & others), len(others))
            for (head, having), (body, others) in product(self.members.items(), repeat=2)
            if head != body and having & others
        }

    def _path_rules(self) -> dict[tuple[int, tuple[int, ...]], tuple[int, int]]:
        """Support and body count of each (head, path) that a pair bears out."""
        joined: dict[tuple[int, ...], set[tuple[int, int]]] = {}
        for start in range(ENTITIES):
            for path, nodes in self.paths((start,), self.length):
                joined.setdefault(path, set()).add((start, nodes[-1]))
        linked = {r: {(s, o) for s, q, o in self.facts if q == r} for r in range(2 * RELATIONS)}
        return {
            (head, path): (len(pairs & linked[head]), len(pairs))
            for head, (path, pairs) in product(linked, joined.items())
            if path != (head,) and pairs & linked[head]
        }

    def paths(self, nodes: tuple[int, ...], length: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Relations and entities of each simple path on from these nodes."""
        for s, r, o in self.facts if length else ():
            if s == nodes[-1] and o not in nodes:
                yield (r,), (*nodes, o)
                yield from (((r, *path), further) for path, further in self.paths((*nodes, o), length - 1))

    def confidences(self, entity: int, relation: int, answer: int) -> dict[str, list[float]]:
        """Of every rule that fires, by kind, descending, smoothed by 5."""
        reciprocal = (relation + RELATIONS) % (2 * RELATIONS)
        ways = {path for path, nodes in self.paths((entity,), self.length) if nodes[-1] == answer}
        return {
            "attribute": self._of_attributes((answer, reciprocal), entity),
            "likeness": self._of_attributes((entity, relation), answer),
            "path": descending(
                support / (pairs + 5)
                for (head, path), (support, pairs) in self.path_rules.items()
                if head == relation and path in ways
            ),
        }

    def _of_attributes(self, wanted: Attribute, holder: int) -> list[float]:
        return descending(
            support / (size + 5)
            for (head, body), (support, size) in self.attribute_rules.items()
            if head == wanted and holder in self.members[body]
        )


def descending(values: Iterable[float]) -> list[float]:
    return sorted(values, reverse=True)


def everything(length: int) -> RuleSettings:
    """Settings that keep every rule."""
    equal = KindWeights(attribute=1, likeness=1, path=1)
    return RuleSettings(
        min_support=1,
        min_confidence=0,
        max_length=length,
        best=3,
        decay=0.5,
        frequency=0,
        weights=equal,
    )


@given(graphs)
@settings(max_examples=60, deadline=None)
def test_attribute_rules_are_those_of_the_definition(facts: list[Fact]) -> None:
    book = learn_rules(np.array(facts), ENTITIES, RELATIONS, everything(0))
    graph, rules = book.graph, book.attribute_rules

    def named(attribute: int) -> Attribute:
        return int(graph.entity[attribute]), int(graph.relation[attribute])

    found = {
        (named(head), named(body)): (support, len(graph.members.row(body)))
        for head, body, support in zip(rules.head, rules.body, rules.support, strict=True)
    }
    assert found == ByDefinition(facts, length=0).attribute_rules
    assert len(book.path_rules) == 0


@given(graphs, st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_path_rules_are_those_of_the_definition(facts: list[Fact], length: int) -> None:
    rules = learn_rules(np.array(facts), ENTITIES, RELATIONS, everything(length)).path_rules
    found = {
        (int(head), tuple(step for step in body.tolist() if step >= 0)): (int(support), int(pairs))
        for head, body, support, pairs in zip(rules.head, rules.body, rules.support, rules.pairs, strict=True)
    }
    assert found == ByDefinition(facts, length=length).path_rules


@given(graphs, st.integers(0, 3), st.integers(0, ENTITIES - 1), st.integers(0, 2 * RELATIONS - 1))
@settings(max_examples=60, deadline=None)
def test_scores_are_those_of_the_definition(facts: list[Fact], length: int, entity: int, relation: int) -> None:
    retriever = RuleRetriever(learn_rules(np.array(facts), ENTITIES, RELATIONS, everything(length)))
    scores = retriever.score_all(Queries(np.array([entity]), np.array([relation])))[0].tolist()
    reference = ByDefinition(facts, length=length)
    for answer, score in enumerate(scores):
        kinds = reference.confidences(entity, relation, answer).values()
        evidence = sum(0.5**i * -log1p(-c) for confidences in kinds for i, c in enumerate(confidences[:3]))
        assert score == pytest.approx(evidence, abs=1e-6)


@given(graphs, st.integers(0, 3), st.integers(0, ENTITIES - 1), st.integers(0, 2 * RELATIONS - 1))
@settings(max_examples=30, deadline=None)
def test_reasons_are_the_rules_that_the_score_counts(
    facts: list[Fact], length: int, entity: int, relation: int
) -> None:
    retriever = RuleRetriever(learn_rules(np.array(facts), ENTITIES, RELATIONS, everything(length)))
    reference = ByDefinition(facts, length=length)
    for answer in range(ENTITIES):
        reasons = retriever.reasons(entity, relation, answer)
        for kind, confidences in reference.confidences(entity, relation, answer).items():
            assert [rule.confidence for rule in reasons if rule.kind == kind] == pytest.approx(confidences)
        assert all(rule.groundings for rule in reasons)
