"""New entities without retraining: the system answers about them, says who cannot, and everything else stays."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from cear.candidates import Lists, Manifest, Retrievers
from cear.core.context import HERE
from cear.core.errors import AmbiguousName, DataError, UnknownName
from cear.core.progress import Progress, silent
from cear.core.types import Candidates, Floats, Ints, Queries, Ragged
from cear.data import KnowledgeBase, Mentions, Types
from cear.ranking import NewEntity, Ranker, cannot_take, extended, with_newcomers
from cear.reranking import (
    CrossEncoderConfig,
    KgBertRerankerConfig,
    RerankerConfig,
    RereadsEntities,
    SequenceConfig,
    Upstream,
    WideConfig,
    rereading,
)
from cear.retrieval import ComplExConfig, RuleRetriever, RuleSettings, learn_rules

TOWNS, C0 = 25, 25  # the number of towns, and the first country
FACTS = (("this", "lies in", "Country A"), ("t3", "road_to", "Hamlet"), ("Hamlet", "twinned with", "Town 5"))
HAMLET = NewEntity("h", "Hamlet", "a small town", FACTS)


@pytest.fixture(scope="module")
def complex_(towns: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Any:
    config = ComplExConfig.model_validate({"rank": 16, "epochs": 40, "batch": 32, "validate_every": 40})
    return config.fit(towns, tmp_path_factory.mktemp("complex"), HERE).retriever


@pytest.fixture(scope="module")
def rules(towns: KnowledgeBase) -> RuleRetriever:
    return RuleRetriever(learn_rules(towns.facts("train"), towns.n_entities, towns.n_relations, RuleSettings()))


@pytest.fixture(scope="module")
def ranker(towns: KnowledgeBase, complex_: Any, rules: RuleRetriever) -> Ranker:
    """ComplEx, rules, and a wide re-ranker that is untrained, but whose last layer is not zero."""
    config = WideConfig(text=False, vectors=True, width=16, heads=2)
    reranker = config.build(Upstream(towns, ["rules"], complex_), HERE)
    with torch.no_grad():
        reranker.model.head[-1].weight.normal_(generator=torch.Generator().manual_seed(0))  # type: ignore[index,union-attr,operator]
    return Ranker(Retrievers(towns, complex_, {"rules": rules}), k=8, reranker=reranker)


class TestTheKnowledgeBase:
    def test_it_has_the_newcomer_last_with_its_texts_and_its_facts_in_training(self, towns: KnowledgeBase) -> None:
        kb = with_newcomers(towns, [HAMLET])
        new = kb.entities.find("Hamlet")
        assert (new, kb.n_entities) == (towns.n_entities, towns.n_entities + 1)
        assert (kb.entities.id(new), kb.entities.description(new)) == ("h", "a small town")
        assert kb.facts("train")[-3:].tolist() == [[new, 0, C0], [3, 2, new], [new, 1, 5]]
        assert kb.facts("train")[:-3].tolist() == towns.facts("train").tolist()
        assert kb.facts("test").tolist() == towns.facts("test").tolist()

    def test_newcomers_may_know_each_other(self, towns: KnowledgeBase) -> None:
        other = NewEntity("n", "Nook", facts=(("this", "road to", "Hamlet"),))
        kb = with_newcomers(towns, [other, HAMLET])
        assert kb.facts("train")[-4].tolist() == [towns.n_entities, 2, towns.n_entities + 1]

    def test_types_that_are_said_beside_the_facts_and_mentions_stay(self, towns: KnowledgeBase) -> None:
        types = Types(("town", "country"), Ragged.of([[0]] * TOWNS + [[1]] * (towns.n_entities - TOWNS)))
        ends = {"train": np.full((len(towns.facts("train")), 2), -1)}
        splits = {"train": towns.facts("train")}
        mentions = Mentions(Ragged.of([[0, 1]]), ends)
        kb = KnowledgeBase("typed", towns.entities, towns.relations, splits, mentions, types)
        after = with_newcomers(kb, [HAMLET])
        assert after.types is not None
        assert (after.types.of(3), after.types.of(towns.n_entities)) == (("town",), ())
        assert after.gold_mentions("train").counts.max() == 1

    @pytest.mark.parametrize(
        ("newcomer", "error", "message"),
        [
            (NewEntity("t3", "Hamlet"), DataError, "the id 't3', which is that of 'Town 3'"),
            (NewEntity("h", "Hamlet", facts=(("t3", "road to", "t4"),)), DataError, "is not about it. Write 'this'"),
            (NewEntity("h", "Hamlet", facts=(("this", "rode to", "t4"),)), UnknownName, "Did you mean 'road to'"),
            (NewEntity("h", "Hamlet", facts=(("this", "road to", "Toun 4"),)), UnknownName, "Did you mean 'Town 4'"),
        ],
    )
    def test_what_cannot_be_is_refused_with_what_to_do(
        self, newcomer: NewEntity, error: type[Exception], message: str, towns: KnowledgeBase
    ) -> None:
        with pytest.raises(error, match=message):
            with_newcomers(towns, [newcomer])

    def test_a_name_that_two_have_is_asked_for_by_its_id(self, towns: KnowledgeBase) -> None:
        kb = with_newcomers(towns, [NewEntity("other", "Town 3")])
        assert kb.entities.find("other") == towns.n_entities
        with pytest.raises(AmbiguousName, match="t3, other"):
            kb.entities.find("Town 3")


class TestTheSystem:
    def test_it_ranks_the_newcomer_and_answers_questions_about_it(self, ranker: Ranker) -> None:
        after = extended(ranker, [HAMLET])
        new = ranker.kb.n_entities
        ranked = after.rank(Queries(np.array([new, 0]), np.array([1, 2])), k=after.kb.n_entities)
        assert 5 not in ranked.entities[0]  # it is twinned with 5: that is known now
        assert new in ranked.entities[1]
        assert (np.sort(ranked.entities[1][ranked.entities[1] >= 0])[-1]) == new

    def test_stage_1_puts_its_facts_where_facts_that_were_learned_are(self, complex_: Any, ranker: Ranker) -> None:
        after = extended(Ranker(Retrievers(ranker.kb, complex_)), [HAMLET])
        new = ranker.kb.n_entities
        asked = Queries(np.array([new, 3, new]), np.array([0, 2, 1]))
        best = after.rank_known_too(asked, k=3).entities
        assert [gold in row for gold, row in zip((C0, new, 5), best, strict=True)] == [True] * 3

    def test_old_questions_have_the_old_scores_and_the_ranker_stays_as_it_is(self, ranker: Ranker) -> None:
        old = Queries(np.tile(np.arange(ranker.kb.n_entities), 3), np.repeat(np.arange(3), ranker.kb.n_entities))
        before = ranker.rank(old, k=5)
        nameless = extended(ranker, [NewEntity("h", "Hamlet")])
        for first, second in zip(ranker.retrievers.score_block(old), nameless.retrievers.score_block(old), strict=True):
            entities = np.tile(np.arange(ranker.kb.n_entities), (len(old), 1))
            np.testing.assert_allclose(second.of(entities), first.of(entities), atol=1e-5)
        again = ranker.rank(old, k=5)
        assert np.array_equal(before.entities, again.entities)
        assert np.array_equal(before.scores, again.scores)

    def test_more_can_be_added_to_one_that_was_extended(self, ranker: Ranker) -> None:
        both = extended(extended(ranker, [HAMLET]), [NewEntity("n", "Nook", facts=(("this", "road to", "Hamlet"),))])
        assert both.kb.n_entities == ranker.kb.n_entities + 2
        assert both.rank(Queries(np.array([ranker.kb.n_entities + 1]), np.array([0])), k=3).entities.min() >= 0

    def test_no_newcomers_no_change(self, ranker: Ranker) -> None:
        assert extended(ranker, []) is ranker


class FixedRetriever:
    """Knows the towns and countries, and prefers those with small numbers."""

    n_entities = 30

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        scores = -torch.arange(30.0).expand(len(queries), 30)
        return scores if among is None else scores[:, torch.as_tensor(among)]

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        return self.score_all(queries).gather(1, torch.as_tensor(entities))


class Backwards:
    """A re-ranker that turns every list round, and knows 30 entities."""

    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        del progress
        assert lists.candidates.entities.max() < 30
        return -lists.candidates.scores


class TestWhoCannot:
    def test_the_parts_that_know_nothing_of_newcomers_are_named(
        self, towns: KnowledgeBase, rules: RuleRetriever, caplog: pytest.LogCaptureFixture
    ) -> None:
        first = Ranker(Retrievers(towns, rules, {"fixed": FixedRetriever()}), k=4, reranker=Backwards())
        with caplog.at_level(logging.WARNING, "cear.ranking"):
            after = extended(first, [HAMLET])
        assert cannot_take(after) == ("fixed", "the re-ranker")
        assert "fixed takes no new entities" in caplog.text
        assert cannot_take(extended(Ranker(Retrievers(towns, rules)), [HAMLET])) == ()

    def test_lists_with_newcomers_keep_the_order_of_stage_1_and_others_are_re_ranked(
        self, towns: KnowledgeBase
    ) -> None:
        after = rereading(Backwards(), with_newcomers(towns, [HAMLET]), towns.n_entities, HERE)
        new = towns.n_entities
        assert after.rerank(lists_of([0, 1, 2, 3])).tolist() == [[0, 1, 2, 3]]
        assert after.rerank(lists_of([0, 1, 2, new])).tolist() == [[0, -1, -2, -3]]
        assert after.rerank(lists_of([0, 1, 2, 3], about=new)).tolist() == [[0, -1, -2, -3]]


RERANKERS: dict[str, Callable[[str, str], RerankerConfig]] = {
    "wide": lambda encoder, _: WideConfig(encoder=encoder, width=16, heads=2),
    "sequence": lambda encoder, _: SequenceConfig(encoder=encoder),
    "kg_bert": lambda encoder, _: KgBertRerankerConfig(encoder=encoder, form_tokens=8),
    "cross_encoder": lambda _, encoder: CrossEncoderConfig(encoder=encoder, form_tokens=8),
}


@pytest.mark.parametrize("kind", RERANKERS)
def test_a_re_ranker_reads_the_newcomer_as_one_of_the_same_name_and_leaves_old_lists_as_they_are(
    kind: str,
    towns: KnowledgeBase,
    encoder_of: Callable[..., str],
    cross_encoder_of: Callable[..., str],
) -> None:
    """A fixed Stage 1 lists 0, 1, 2, 3. Then the newcomer, called as town 3, stands in the place of that."""
    built = RERANKERS[kind](encoder_of(positions=96), cross_encoder_of()).build(Upstream(towns), HERE)
    assert isinstance(built, RereadsEntities)
    if kind == "wide":
        with torch.no_grad():
            built.model.head[-1].weight.normal_(generator=torch.Generator().manual_seed(0))  # type: ignore[index,union-attr,operator]
    kb = with_newcomers(towns, [NewEntity("other", "Town 3")])
    after = built.extended(kb, towns.n_entities, HERE)
    lists = lists_of([0, 1, 2, 3])
    np.testing.assert_allclose(after.rerank(lists), built.rerank(lists), rtol=1e-5, atol=1e-5)
    scores = after.rerank(lists_of([0, 1, 2, towns.n_entities]))
    assert np.isfinite(scores).all()
    if kind != "wide":  # which also counts the facts that town 3 has
        np.testing.assert_allclose(scores, built.rerank(lists), rtol=1e-5, atol=1e-5)


def lists_of(entities: list[int], about: int = 9) -> Lists:
    """A list of these candidates with the scores 0, -1, …, for what an entity is twinned with."""
    row = Candidates(np.array([entities]), -np.arange(len(entities), dtype=np.float32)[None])
    manifest = Manifest("towns", "digest", "asked", len(entities), "keep", "fixed")
    return Lists(Queries(np.array([about]), np.array([1])), row, manifest)
