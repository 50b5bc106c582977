"""Facts that share a question are judged by one reading of its list, to what a reading of each alone says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import Known, Retrievers
from cear.completion import Counts, Proposals, judged
from cear.core.context import HERE
from cear.data import KnowledgeBase
from cear.ranking import Ranker, Reading
from cear.reranking import Upstream, WideConfig
from cear.retrieval import ComplExConfig, RuleRetriever, RuleSettings, learn_rules


@pytest.fixture(scope="module", params=["drop", "keep"])
def ranker(towns: KnowledgeBase, request: pytest.FixtureRequest) -> Ranker:
    complex_ = ComplExConfig.model_validate({"rank": 8, "embedding": {"scale": 0.3}}).build(towns, HERE)
    rules = RuleRetriever(learn_rules(towns.facts("train"), towns.n_entities, towns.n_relations, RuleSettings()))
    reranker: Any = WideConfig(text=False, width=16, heads=2).build(Upstream(towns, ["rules"]), HERE)
    with torch.no_grad():
        reranker.model.head[-1].weight.normal_(generator=torch.Generator().manual_seed(0))
    known: Known = request.param
    return Ranker(Retrievers(towns, complex_, {"rules": rules}), k=8, known=known, reranker=reranker)


def one_by_one(ranker: Ranker, facts: Any) -> list[Proposals]:
    counts = Counts(ranker.kb)
    return [judged(ranker, fact[None], counts) for fact in facts]


def test_all_objects_of_a_subject_are_judged_as_each_alone(ranker: Ranker) -> None:
    everybody = np.array([[0, 0, o] for o in range(30)])  # train knows one of them, the list holds 8
    together = judged(ranker, everybody, Counts(ranker.kb))
    for place, alone in enumerate(one_by_one(ranker, everybody)):
        assert np.array_equal(together.ranks[place], alone.ranks[0])
        assert np.allclose(together.views[place], alone.views[0], atol=1e-6)


def test_training_facts_too(ranker: Ranker) -> None:
    train = ranker.kb.facts("train")[:20]
    together = judged(ranker, train, Counts(ranker.kb))
    order = np.lexsort(train.T[::-1])
    for place, alone in enumerate(one_by_one(ranker, train[order])):
        assert np.array_equal(together.ranks[place], alone.ranks[0])
        assert np.allclose(together.views[place], alone.views[0], atol=1e-6)


def test_answers_that_a_list_holds_cost_one_reading_of_it(ranker: Ranker, monkeypatch: pytest.MonkeyPatch) -> None:
    best = ranker.rank(ranker.kb.known("train").queries[:1], 5)
    asked = ranker.kb.known("train").queries[:1]
    facts = np.array([[asked.entity[0], asked.relation[0], o] for o in best.entities[0]])
    read: list[int] = []

    def counting(self: Ranker, queries: Any, given: Any, real: Any = Ranker.read_given) -> Reading:
        read.append(len(queries))
        reading: Reading = real(self, queries, given)
        return reading

    monkeypatch.setattr(Ranker, "read_given", counting)
    judged(ranker, facts, Counts(ranker.kb))
    assert read == [1 + 5], "⟨s, r, ?⟩ once, and ⟨?, r, o⟩ for each of the five"
