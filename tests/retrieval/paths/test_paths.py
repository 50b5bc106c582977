"""The path network: where messages go, what they carry, what is learned from them, and what must not be."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from cear.core.context import HERE, Context
from cear.core.errors import ConfigError
from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase, KnownAnswers, Vocabulary
from cear.evaluation import evaluate
from cear.retrieval.paths import PathNetwork, PathRetriever, PathsConfig
from cear.retrieval.paths.graph import Graph
from cear.retrieval.paths.messages import messages, plain_messages
from cear.retrieval.paths.training import dealt, out_of_competition

# 0 -r0-> 1 -r1-> 2 -r0-> 3, and 4 -r1-> 5 apart from them
CHAIN = np.array([[0, 0, 1], [1, 1, 2], [2, 0, 3], [4, 1, 5]])
SMALL = PathsConfig(layers=2, width=4)


def graph_of(facts: Ints, n_entities: int = 6, n_relations: int = 2) -> Graph:
    return Graph.of(facts, n_entities, n_relations)


class TestReach:
    def test_the_nearest_come_first(self) -> None:
        reach = graph_of(CHAIN).around(1, 2)
        assert reach.nodes.tolist() == [1, 0, 2, 3]
        assert reach.ends.tolist() == [1, 3, 4]

    def test_an_edge_leads_both_ways_by_reciprocal_relations(self) -> None:
        source, by, target = graph_of(CHAIN).around(1, 1).edges(1)
        assert list(zip(source, by, target, strict=True)) == [(0, 0 + 2, 1), (0, 1, 2)]

    def test_who_has_no_facts_reaches_itself_alone(self) -> None:
        reach = graph_of(CHAIN[:1]).around(5, 3)
        assert reach.nodes.tolist() == [5]
        assert reach.ends.tolist() == [1, 1, 1, 1]


class TestMessages:
    def test_a_message_is_the_state_times_the_relation(self) -> None:
        reach = graph_of(CHAIN).around(1, 1)
        relations = torch.arange(8.0).reshape(4, 2)
        found = messages(torch.tensor([[1.0, 10.0]]), relations, reach, 1)
        assert found.tolist() == [[0.0, 0.0], [4.0, 50.0], [2.0, 30.0]]

    @pytest.mark.parametrize("step", [1, 2])
    def test_compiled_loops_and_pytorch_agree_and_so_do_their_gradients(self, step: int) -> None:
        rng = np.random.default_rng(0)
        facts = np.column_stack([rng.integers(20, size=60), rng.integers(3, size=60), rng.integers(20, size=60)])
        reach = graph_of(facts, 20, 3).around(int(facts[0, 0]), 2)
        drawn = torch.Generator().manual_seed(0)
        state = torch.randn(int(reach.ends[step - 1]), 5, generator=drawn)
        relations, weights = torch.randn(6, 5, generator=drawn), torch.randn(int(reach.ends[step]), 5, generator=drawn)
        found = []
        for way in (messages, plain_messages):
            inputs = [each.clone().requires_grad_() for each in (state, relations)]
            (way(*inputs, reach, step) * weights).sum().backward()
            found.append([way(*inputs, reach, step).detach(), *(each.grad for each in inputs)])
        for compiled, plain in zip(*found, strict=True):
            torch.testing.assert_close(compiled, plain, atol=1e-5, rtol=1e-5)


class TestScores:
    @torch.no_grad()
    def test_whoever_is_out_of_reach_has_the_same_score(self) -> None:
        scores = PathRetriever(PathNetwork(2, SMALL), graph_of(CHAIN)).score_all(ask(0, 0))[0]
        reached, others = scores[[0, 1, 2]], scores[[3, 4, 5]]
        assert len(set(others.tolist())) == 1
        assert set(reached.tolist()).isdisjoint(others.tolist())

    @torch.no_grad()
    def test_entities_with_the_same_facts_score_the_same(self) -> None:
        """It knows no entity by name."""
        twins = np.array([[0, 0, 1], [0, 0, 2], [1, 1, 3], [2, 1, 3]])
        scores = PathRetriever(PathNetwork(2, SMALL), graph_of(twins)).score_all(ask(0, 0))[0]
        assert scores[1] == scores[2]


class TestLearning:
    def test_a_fold_by_pair_has_all_facts_of_its_pairs(self) -> None:
        facts = np.array([[0, 0, 1], [1, 1, 0], [0, 1, 1], [2, 0, 3], [3, 1, 2], [4, 0, 5]])
        fold = dealt(facts, PathsConfig(folds=2, by="pair"), seed=0)
        assert len(set(fold[:3])) == len(set(fold[3:5])) == 1

    def test_linked_entities_compete_only_if_links_may_speak(self) -> None:
        known, graph = KnownAnswers.of(CHAIN, 6, 2), graph_of(CHAIN)
        beside = {
            (by, linked): set(out_of_competition(ask(1, 1), known, graph, PathsConfig(by=by, linked=linked)).tolist())
            for by in ("pair", "fact")
            for linked in (False, True)
        }
        assert beside.pop(("pair", False)) == {0, 2}, "2 is an answer, 0 is linked"
        assert all(each == {2} for each in beside.values())

    def test_it_finds_a_rule_and_applies_it_to_entities_it_has_never_met(self, tmp_path: Path) -> None:
        """Grandparents are parents of parents."""
        config = PathsConfig(layers=2, width=8, folds=4, epochs=12, batch=4, queries=None, validate_every=4)
        fitted = config.fit(families(range(24), seed=0), tmp_path, Context(seed=1))
        strangers = families(range(8), seed=1)
        network = fitted.retriever
        assert isinstance(network, PathRetriever)
        moved = network.extended(strangers, 0, HERE)
        assert evaluate(moved, strangers, "valid").summary()["tail"]["hits@1"] == 1

    def test_more_relations_than_fit_are_refused_before_training(self) -> None:
        many = KnowledgeBase("many", names("entity", 9), names("relation", 40_000), {"train": CHAIN[:1]})
        with pytest.raises(ConfigError, match="Set dependent: false"):
            PathsConfig().preflight(many, HERE)
        with pytest.raises(ConfigError, match="1 training facts cannot be dealt into 10 folds"):
            PathsConfig(dependent=False).preflight(many, HERE)


def ask(entity: int, relation: int) -> Queries:
    return Queries(np.array([entity]), np.array([relation]))


def names(kind: Literal["entity", "relation"], n: int) -> Vocabulary:
    return Vocabulary.from_ids(kind, [f"{kind} {i}" for i in range(n)])


def families(numbers: range, *, seed: int) -> KnowledgeBase:
    """Chains of four generations: parents (0) in train, and grandparents (1), of which some are to be found."""
    parents = [(4 * n + i, 0, 4 * n + i + 1) for n in numbers for i in range(3)]
    grand = np.array([(4 * n + i, 1, 4 * n + i + 2) for n in numbers for i in range(2)])
    hidden = np.random.default_rng(seed).permutation(len(grand)) < len(grand) // 4
    facts = np.concatenate([np.array(parents), grand[~hidden]])
    return KnowledgeBase(
        "families", names("entity", 4 * len(numbers)), names("relation", 2), {"train": facts, "valid": grand[hidden]}
    )
