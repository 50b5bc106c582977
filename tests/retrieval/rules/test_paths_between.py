"""Paths between two entities, against all walks one by one; and what of them a reason tells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from cear.core.types import Ints
from cear.retrieval import RuleRetriever, RuleSettings, learn_rules
from cear.retrieval.rules.graph import Graph
from cear.retrieval.rules.paths import PathsBetween

N, R = 8, 2
Step = tuple[int, int, int]
Nodes = tuple[int, ...]
SETTINGS = RuleSettings(min_support=1, min_confidence=0, max_length=2)


def both_ways(facts: Ints) -> set[Step]:
    return {(s, r, o) for s, r, o in facts.tolist()} | {(o, r + R, s) for s, r, o in facts.tolist()}


def by_hand(steps: set[Step], nodes: Nodes, path: tuple[int, ...]) -> Iterator[Nodes]:
    if not path:
        yield nodes
    for node in range(N):
        if path and node not in nodes and (nodes[-1], path[0], node) in steps:
            yield from by_hand(steps, (*nodes, node), path[1:])


@pytest.mark.parametrize("seed", range(4))
def test_they_are_all_simple_paths_by_these_relations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    facts = np.unique(rng.integers((N, R, N), size=(20, 3)), axis=0)
    graph, steps, seen = Graph.of(facts, N, R), both_ways(facts), 0
    for length in (1, 2, 3, 4):
        for path in (tuple(rng.integers(2 * R, size=length).tolist()) for _ in range(8)):
            for start in range(N):
                for end in range(N):
                    expected = [nodes[1:-1] for nodes in by_hand(steps, (start,), path) if nodes[-1] == end]
                    assert [*PathsBetween(graph, start, end).along(path)] == sorted(expected)
                    seen += len(expected)
    assert seen > 100


def test_of_many_entities_on_a_path_the_first_few_are_told() -> None:
    """Entity 0 leads to nine others, and each of these to entity 10."""
    middle = range(1, 10)
    facts = np.array([*([0, 0, m] for m in middle), *([m, 1, 10] for m in middle), [0, 2, 10]])
    reasons = RuleRetriever(learn_rules(facts, 11, 3, SETTINGS)).reasons(0, 2, 10)
    (rule,) = [rule for rule in reasons if [atom.relation for atom in rule.body] == [0, 1]]
    assert rule.groundings == ((1,), (2,), (3,), (4,), (5,))
    assert rule.facts(0, 10, 3) == ((0, 0, 1), (1, 1, 10))


def test_a_rule_that_reads_a_relation_backwards_tells_the_fact_as_it_is() -> None:
    # in(X, Y) <- owns(Y, X), in the one case there is: 0 is in 1, which owns 0.
    (rule, *_) = RuleRetriever(learn_rules(np.array([[0, 0, 1], [1, 1, 0]]), 2, 2, SETTINGS)).reasons(0, 0, 1)
    assert rule.facts(0, 1, 2) == ((1, 1, 0),)
