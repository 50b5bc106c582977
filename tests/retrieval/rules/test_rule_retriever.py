"""Four towns, two islands, one country: every rule can be counted on one hand."""

from __future__ import annotations

from itertools import pairwise
from math import log1p
from pathlib import Path

import numpy as np
import pytest
import torch

from cear.core.errors import ConfigError, DataError, MismatchError
from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase, Vocabulary
from cear.evaluation import evaluate
from cear.retrieval import (
    RuleBook,
    RuleRetriever,
    RuleSettings,
    learn_rules,
    load_rules,
    save_rules,
    top_k,
)
from cear.retrieval.rules.config import KindWeights
from cear.retrieval.rules.path_rules import walks_from

ENTITIES = ["Copenhagen", "Roskilde", "Køge", "Aarhus", "Zealand", "Jutland", "Denmark"]
ON, IN = 0, 1  # on island, in country
KØGE, ZEALAND, DENMARK = 2, 4, 6
# Three towns on Zealand, one on Jutland; all are known to be in Denmark but Køge.
FACTS = np.array([[0, ON, 4], [1, ON, 4], [2, ON, 4], [3, ON, 5], [0, IN, 6], [1, IN, 6], [3, IN, 6]])

MORE = np.concatenate([FACTS, [[ZEALAND, IN, DENMARK]]])  # with paths from towns to the country
ALL = np.concatenate([MORE, [[KØGE, IN, DENMARK]]])  # with known answers that others are like

EQUAL = KindWeights(attribute=1, likeness=1, path=1)
PLAIN = RuleSettings(
    min_support=1,
    min_confidence=0,
    max_length=2,
    best=10,
    decay=1,
    weights=EQUAL,
    frequency=0,
)


@pytest.fixture
def kb() -> KnowledgeBase:
    names = Vocabulary.from_ids("relation", ["on", "in"], names=["on island", "in country"])
    held_out: Ints = np.array([[KØGE, IN, DENMARK]])
    entities = Vocabulary.from_ids("entity", ENTITIES)
    return KnowledgeBase("isles", entities, names, {"train": FACTS, "valid": held_out, "test": held_out})


def learn(config: RuleSettings = PLAIN, facts: Ints = FACTS) -> RuleBook:
    return learn_rules(facts, 7, 2, config)


def ask(entity: int, relation: int) -> Queries:
    return Queries(np.array([entity]), np.array([relation]))


class TestReasons:
    def test_they_are_counted_and_read_as_expected(self, kb: KnowledgeBase) -> None:
        reasons = RuleRetriever(learn()).reasons(KØGE, IN, DENMARK)
        # in(X, Denmark) <- on(X, Zealand): three on Zealand, two of them in Denmark: 2 / (3 + 5).
        (rule,) = reasons
        assert rule.describe(kb) == "in country(X, Denmark) <- on island(X, Zealand)  0.25 (2/3)"
        assert rule.kind == "attribute"
        assert (rule.confidence, rule.support, rule.body_count, rule.groundings) == (0.25, 2, 3, ((ZEALAND,),))

    def test_the_other_direction_has_the_same_rule(self, kb: KnowledgeBase) -> None:
        """Køge is like the known towns of Denmark; the rule is the same."""
        (rule,) = RuleRetriever(learn()).reasons(DENMARK, IN + 2, KØGE)
        assert rule.describe(kb) == "in country(X, Denmark) <- on island(X, Zealand)  0.25 (2/3)"
        assert rule.kind == "likeness"

    def test_a_path_names_what_stands_between(self, kb: KnowledgeBase) -> None:
        # Zealand is in Denmark, so that in(X, Y) <- on(X, A), in(A, Y) leads from Køge to Denmark.
        # It joins Copenhagen, Roskilde and Køge with Denmark; a fact joins the first two: 2 / (3 + 5).
        book = learn(facts=MORE)
        paths = [rule for rule in RuleRetriever(book).reasons(KØGE, IN, DENMARK) if len(rule.body) == 2]
        assert [rule.describe(kb) for rule in paths] == [
            "in country(X, Y) <- on island(X, A), in country(A, Y)  0.25 (2/3)"
        ]
        assert paths[0].groundings == ((ZEALAND,),)

    def test_the_best_come_first_and_there_are_no_more_than_asked_for(self) -> None:
        retriever = RuleRetriever(learn(facts=ALL))
        reasons = retriever.reasons(KØGE, IN, DENMARK)
        assert len(reasons) > 2
        assert all(one.confidence >= other.confidence for one, other in pairwise(reasons))
        assert retriever.reasons(KØGE, IN, DENMARK, 2) == reasons[:2]

    def test_there_are_none_where_no_rule_fires(self) -> None:
        assert RuleRetriever(learn()).reasons(DENMARK, ON, ZEALAND) == []


class TestScores:
    def test_the_golden_case(self) -> None:
        scores = RuleRetriever(learn()).score_all(ask(KØGE, IN))
        assert scores[0, DENMARK].item() == pytest.approx(-log1p(-0.25))
        assert scores.count_nonzero() == 1

    def test_decay_1_is_noisy_or(self) -> None:
        confidences = [rule.confidence for rule in RuleRetriever(learn(facts=ALL)).reasons(KØGE, IN, DENMARK)]
        score = RuleRetriever(learn(facts=ALL)).score_all(ask(KØGE, IN))[0, DENMARK].item()
        assert len(confidences) > 2
        assert 1 - np.exp(-score) == pytest.approx(1 - np.prod([1 - c for c in confidences]))

    @pytest.mark.parametrize("change", [{"decay": 1e-9}, {"best": 1}])
    def test_decay_near_0_counts_the_best_rule_of_each_kind(self, change: dict[str, float]) -> None:
        retriever = RuleRetriever(learn(PLAIN.model_copy(update=change), ALL))
        reasons = retriever.reasons(KØGE, IN, DENMARK)
        best = {
            kind: max(rule.confidence for rule in reasons if rule.kind == kind) for kind in {r.kind for r in reasons}
        }
        score = retriever.score_all(ask(KØGE, IN))[0, DENMARK].item()
        assert set(best) == {"attribute", "likeness", "path"}
        assert score == pytest.approx(sum(-log1p(-c) for c in best.values()))

    @pytest.mark.parametrize("kind", ["attribute", "likeness", "path"])
    def test_a_kind_has_its_weight(self, kind: str) -> None:
        weights = KindWeights().model_copy(update=dict.fromkeys(KindWeights.model_fields, 0) | {kind: 3})
        retriever = RuleRetriever(learn(PLAIN.model_copy(update={"weights": weights}), ALL))
        score = retriever.score_all(ask(KØGE, IN))[0, DENMARK].item()
        confidences = [rule.confidence for rule in retriever.reasons(KØGE, IN, DENMARK) if rule.kind == kind]
        assert score == pytest.approx(3 * sum(-log1p(-c) for c in confidences))

    def test_frequency_orders_those_for_which_no_rule_fires(self) -> None:
        book = learn(PLAIN.model_copy(update={"frequency": 0.01}))
        scores = RuleRetriever(book).score_all(ask(DENMARK, ON))[0]  # nothing is known about where Denmark lies
        assert scores.tolist() == pytest.approx([0, 0, 0, 0, 0.01 * 3 / 4, 0.01 / 4, 0])

    def test_a_relation_without_facts_scores_zero(self) -> None:
        book = learn_rules(FACTS, 7, 3, PLAIN.model_copy(update={"frequency": 1}))
        assert RuleRetriever(book).score_all(ask(0, 2)).count_nonzero() == 0

    def test_some_entities_are_those_columns(self, towns: KnowledgeBase) -> None:
        retriever = RuleRetriever(learn_rules(towns.facts("train"), 30, 3))
        among, queries = torch.tensor([2, 5, 19]), towns.queries("test")
        assert torch.equal(retriever.score_all(queries, among), retriever.score_all(queries)[:, among])

    def test_they_do_not_depend_on_batch_or_threads(self, towns: KnowledgeBase) -> None:
        retriever, queries = RuleRetriever(learn_rules(towns.facts("train"), 30, 3)), towns.queries("test")
        together, threads = retriever.score_all(queries), torch.get_num_threads()
        try:
            torch.set_num_threads(3)
            assert torch.equal(retriever.score_all(queries), together)
        finally:
            torch.set_num_threads(threads)
        alone = torch.cat([retriever.score_all(queries[i : i + 1]) for i in range(len(queries))])
        assert torch.equal(alone, together)
        assert torch.isfinite(together).all()


class TestThresholds:
    @pytest.mark.parametrize(
        "change", [{"min_support": 3}, {"min_confidence": 0.3}, {"smoothing": 20.0, "min_confidence": 0.1}]
    )
    def test_a_rule_below_one_is_not_kept(self, change: dict[str, float]) -> None:
        retriever = RuleRetriever(learn(RuleSettings.model_validate(PLAIN.model_dump() | change)))
        assert retriever.reasons(KØGE, IN, DENMARK) == []

    def test_the_most_confident_rules_of_a_head_are_kept(self) -> None:
        every, one = (
            learn(PLAIN.model_copy(update=change), MORE) for change in ({}, {"max_rules": 1, "max_path_rules": 1})
        )
        confidence = every.attribute_rules.confidence(every.graph, 5)
        kept = one.attribute_rules.confidence(one.graph, 5)
        for head in np.unique(every.attribute_rules.head):
            best = confidence[every.attribute_rules.head == head].max()
            assert kept[one.attribute_rules.head == head].tolist() == [best]
        assert np.unique(one.path_rules.head, return_counts=True)[1].max() == 1

    def test_a_relation_between_the_same_two_entities_may_be_kept_out(self) -> None:
        twice = np.concatenate([FACTS, FACTS + np.array([0, 2, 0])])  # on and in, and both again under other names
        for direct in (True, False):
            book = learn_rules(twice, 7, 4, PLAIN.model_copy(update={"direct": direct}))
            constants = book.graph.entity
            same = constants[book.attribute_rules.head] == constants[book.attribute_rules.body]
            one_step = (book.path_rules.body >= 0).sum(axis=1) == 1
            assert (same.any(), one_step.any()) == (direct, direct)

    def test_length_0_learns_no_paths(self) -> None:
        assert len(learn(PLAIN.model_copy(update={"max_length": 0})).path_rules) == 0

    def test_more_walks_than_allowed_are_sampled_by_seed(self, towns: KnowledgeBase) -> None:
        facts = towns.facts("train")
        whole = learn_rules(facts, 30, 3, PLAIN)
        allowed = int(walks_from(whole.graph, 2).sum()) // 2
        config = PLAIN.model_copy(update={"max_walks": allowed})
        one, again, other = (learn_rules(facts, 30, 3, config, seed=seed).path_rules for seed in (1, 1, 2))
        assert one.pairs.sum() < whole.path_rules.pairs.sum()
        assert np.array_equal(one.head, again.head)
        assert not np.array_equal(one.head, other.head)

    def test_paths_with_more_names_than_numbers_are_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"Paths of 30 steps.*Set max_length lower"):
            learn(PLAIN.model_copy(update={"max_length": 30}))


class TestHonesty:
    def test_facts_that_are_not_given_leave_no_trace(self, kb: KnowledgeBase) -> None:
        poisoned = KnowledgeBase(
            kb.name, kb.entities, kb.relations, {"train": FACTS, "test": np.array([[KØGE, IN, ZEALAND]])}
        )
        books = [learn_rules(each.facts("train"), 7, 2, PLAIN) for each in (kb, poisoned)]
        scores = [RuleRetriever(book).score_all(kb.queries("train")) for book in books]
        assert torch.equal(*scores)

    def test_no_rule_is_its_own_reason(self) -> None:
        """A fact alone, whatever paths go back and forth over it, gives no reason for itself."""
        book = learn_rules(np.array([[0, 0, 1]]), 2, 1, PLAIN.model_copy(update={"max_length": 3}))
        assert RuleRetriever(book).reasons(0, 0, 1) == []
        assert len(book.attribute_rules) == len(book.path_rules) == 0


class TestAsStage1:
    def test_search_and_evaluation_take_it_as_it_is(self, kb: KnowledgeBase) -> None:
        retriever = RuleRetriever(learn())
        best = top_k(retriever, ask(KØGE, IN), 1)
        assert best.entities.tolist() == [[DENMARK]]
        assert evaluate(retriever, kb, "test").ranks.under().tolist() == [1, 1]


class TestFiles:
    def test_what_is_loaded_is_what_was_saved(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        book = learn()
        save_rules(tmp_path / "rules.safetensors", book, digest=kb.digest)
        again = load_rules(tmp_path / "rules.safetensors", digest=kb.digest)
        assert again.config == book.config
        scores = [RuleRetriever(each).score_all(kb.queries("train")) for each in (book, again)]
        assert torch.equal(*scores)
        assert RuleRetriever(again).reasons(KØGE, IN, DENMARK) == RuleRetriever(book).reasons(KØGE, IN, DENMARK)

    def test_a_book_without_rules_is_kept_too(self, tmp_path: Path) -> None:
        empty = learn(PLAIN.model_copy(update={"min_support": 99}))
        save_rules(tmp_path / "none", empty, digest="d")
        assert len(load_rules(tmp_path / "none", digest="d").path_rules) == 0

    def test_those_of_another_knowledge_base_are_refused(self, tmp_path: Path) -> None:
        save_rules(tmp_path / "rules.safetensors", learn(), digest="1" * 64)
        with pytest.raises(MismatchError, match="learned for another knowledge base"):
            load_rules(tmp_path / "rules.safetensors", digest="2" * 64)

    def test_a_file_that_is_no_rules_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "rules.safetensors").write_bytes(b"nothing")
        with pytest.raises(DataError, match=r"rules\.safetensors cannot be read"):
            load_rules(tmp_path / "rules.safetensors", digest="")


def test_settings_that_cannot_work_are_refused() -> None:
    for bad in ({"smoothing": 0}, {"decay": 0}, {"decay": 1.5}, {"best": 0}, {"min_confidence": 1}):
        with pytest.raises(ConfigError, match=next(iter(bad))):
            RuleSettings.parse(bad, source="here")
