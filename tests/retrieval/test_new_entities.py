"""Retrievers take entities that came after their training: old scores stay, and newcomers find their place."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from torch import Tensor

from cear.core.context import HERE
from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase, Vocabulary, with_entities
from cear.retrieval import (
    RETRIEVERS,
    DistMult,
    NewcomersBehind,
    Retriever,
    RowsEmbeddings,
    RuleRetriever,
    Scorer,
    TakesNewEntities,
    TextConfig,
    learn_rules,
    with_new_entities,
)
from cear.retrieval.newcomers_loss import NewcomersLoss

TWIN = 7  # the town whose facts, or whose name, a newcomer has

SCORERS: dict[str, dict[str, Any]] = {
    "complex": {"rank": 16},
    "complex with relation prediction": {"model": "complex", "rank": 16, "relation_prediction": 0.5},
    "distmult": {"rank": 16},
    "transe": {"rank": 16},
    "transe of norm 1": {"model": "transe", "rank": 16, "norm": 1},
    "rotate": {"rank": 16, "norm": 1, "loss": {"kind": "self_adversarial", "margin": 2.0}},
    "conve": {"rank": 16, "image_width": 4, "channels": 2},
    "lstm": {"model": "complex", "rank": 16, "embedding": {"kind": "lstm", "min_count": 1}},
}


def grown(kb: KnowledgeBase, names: list[str], facts: list[tuple[int, int, int]]) -> KnowledgeBase:
    """The knowledge base with entities of these names and these training facts more."""
    columns = {"id": [f"new {i}" for i in range(len(names))], "name": names, "description": [None] * len(names)}
    more = pl.DataFrame(columns, schema=kb.entities.table.schema)
    table = pl.concat([kb.entities.table, more])
    return with_entities(kb, Vocabulary("entity", table), np.array(facts, np.int64).reshape(-1, 3))


def twin(kb: KnowledgeBase, name: str = "Hamlet") -> KnowledgeBase:
    """The knowledge base with a newcomer that has the training facts of `TWIN`."""
    facts = [fact for fact in kb.facts("train").tolist() if TWIN in (fact[0], fact[2])]
    return grown(kb, [name], [tuple(kb.n_entities if end == TWIN else end for end in fact) for fact in facts])  # type: ignore[misc]


def every_query(kb: KnowledgeBase, entities: Ints) -> Queries:
    relations = np.arange(2 * kb.n_relations)
    return Queries(np.repeat(entities, len(relations)), np.tile(relations, len(entities)))


@torch.no_grad()
def scores_of(retriever: Retriever, queries: Queries) -> Tensor:
    return retriever.score_all(queries)


@pytest.fixture(scope="module")
def trained(towns: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Scorer]:
    made: dict[str, Scorer] = {}

    def get(name: str) -> Scorer:
        if name not in made:
            settings = {"model": name, "epochs": 40, "batch": 32, "validate_every": 40, **SCORERS[name]}
            config = RETRIEVERS[settings["model"]].model_validate(settings)
            fitted = config.fit(towns, tmp_path_factory.mktemp("scorer"), HERE)
            assert isinstance(fitted.retriever, Scorer)
            made[name] = fitted.retriever
        return made[name]

    return get


@pytest.mark.parametrize("name", SCORERS)
class TestScorers:
    def test_old_scores_stay_and_every_score_is_finite(
        self, name: str, trained: Callable[[str], Scorer], towns: KnowledgeBase
    ) -> None:
        before, kb = trained(name), twin(towns)
        assert isinstance(before, TakesNewEntities)
        old = every_query(towns, np.arange(towns.n_entities))
        kept = scores_of(before, old)
        after = before.extended(kb, towns.n_entities, HERE)
        assert after.n_entities == before.n_entities + 1 == kb.n_entities
        torch.testing.assert_close(scores_of(after, old)[:, :-1], kept, rtol=0, atol=1e-5)
        assert torch.equal(scores_of(before, old), kept)  # who was extended is as it was
        assert scores_of(after, every_query(kb, np.arange(kb.n_entities))).isfinite().all()

    def test_both_ways_to_score_agree(self, name: str, trained: Callable[[str], Scorer], towns: KnowledgeBase) -> None:
        kb = twin(towns)
        after = with_new_entities(trained(name), kb, towns.n_entities, HERE)
        queries = every_query(kb, np.arange(kb.n_entities))
        everybody = np.tile(np.arange(kb.n_entities), (len(queries), 1))
        with torch.no_grad():
            torch.testing.assert_close(
                after.score_candidates(queries, everybody), after.score_all(queries), rtol=1e-4, atol=1e-4
            )


def ranks(retriever: Retriever, entity: int, kb: KnowledgeBase) -> Ints:
    """Where the answers of the questions about an entity stand that training facts have, other answers filtered."""
    known = kb.known("train")
    asked = known.queries[known.queries.entity == entity]
    answers, scores = known.of_queries(asked), scores_of(retriever, asked)
    golds = scores[answers.rows, answers.values]
    wrong = scores.clone()
    wrong[answers.rows, answers.values] = -torch.inf
    return np.asarray(1 + (wrong[answers.rows] > golds[:, None]).sum(1))


@pytest.mark.parametrize("name", ["complex", "complex with relation prediction", "distmult", "transe", "rotate"])
def test_who_has_the_facts_of_another_ranks_nearly_as_that_one(
    name: str, trained: Callable[[str], Scorer], towns: KnowledgeBase
) -> None:
    new, kb = towns.n_entities, twin(towns)
    after = with_new_entities(trained(name), kb, new, HERE)
    assert np.abs(ranks(after, new, kb) - ranks(after, TWIN, kb)).max() <= 2
    start = trained(name).grown(kb, new, HERE)  # type: ignore[operator]
    assert ranks(after, new, kb).mean() < ranks(start, new, kb).mean() / 2


class TestSolving:
    @pytest.mark.parametrize("name", ["complex", "complex with relation prediction", "distmult", "transe"])
    def test_the_solved_vector_is_where_the_training_loss_is_flat(
        self, name: str, trained: Callable[[str], Scorer], towns: KnowledgeBase
    ) -> None:
        kb, new = twin(towns), towns.n_entities
        after = with_new_entities(trained(name), kb, new, HERE)
        assert isinstance(after, Scorer)
        steep = [steepness(each, kb, new) for each in (trained(name).grown(kb, new, HERE), after)]  # type: ignore[operator]
        assert steep[1] < steep[0] / 100  # single precision tells no more

    def test_the_loss_of_a_newcomer_on_paper(self) -> None:
        """3 old entities and a newcomer, all vectors 0: every fact has the loss log 4, and the regulariser is 0.

        ⟨0, r, 1⟩ was there; ⟨new, r, 2⟩ and its reciprocal are the newcomer's 2 facts, and 2 stand for those of others.
        """
        kb = grown(toy([(0, 0, 1)], entities=3, relations=1), ["new"], [(3, 0, 2)])
        scorer = DistMult(RowsEmbeddings(4, 1), 2)
        with torch.no_grad():
            for weight in scorer.parameters():
                weight.zero_()
        assert NewcomersLoss.of(scorer, kb, 3, HERE)().item() == pytest.approx((2 + 2) * math.log(4) / 2)

    def test_without_facts_it_is_the_mean_of_all_and_a_fact_says_whose_mean_it_starts_from(self) -> None:
        kb = toy([(0, 0, 2), (1, 0, 3)], entities=4, relations=1)
        scorer = DistMult(RowsEmbeddings(4, 1, scale=1.0), 2)
        vectors = scorer.entity_vectors().detach()
        alone, subject = grown(kb, ["a"], []), grown(kb, ["a"], [(4, 0, 2)])
        torch.testing.assert_close(scorer.extended(alone, 4, HERE).entity_vectors()[4], vectors.mean(0))
        torch.testing.assert_close(scorer.grown(subject, 4, HERE).entity_vectors()[4], vectors[:2].mean(0))

    def test_one_without_facts_stays_where_it_starts_beside_one_that_has_some(
        self, trained: Callable[[str], Scorer], towns: KnowledgeBase
    ) -> None:
        scorer, new = trained("complex"), towns.n_entities
        facts = [(new, 0, 25), (new, 1, 3)]
        after = with_new_entities(scorer, grown(towns, ["with", "without"], facts), new, HERE)
        mean = scorer.entity_vectors().mean(0)  # type: ignore[operator]
        torch.testing.assert_close(after.entity_vectors()[new + 1], mean)  # type: ignore[attr-defined]


def steepness(scorer: Scorer, kb: KnowledgeBase, first_new: int) -> float:
    """The steepest coordinate of the newcomers' part of the loss, at their vectors."""
    weights = [*scorer.entity.parameters()]  # type: ignore[union-attr]
    for weight in weights:
        weight.requires_grad_(True)
    (slope,) = torch.autograd.grad(NewcomersLoss.of(scorer, kb, first_new, HERE)(), weights)
    return float(slope[-(kb.n_entities - first_new) :].abs().max())


def toy(facts: list[tuple[int, int, int]], *, entities: int, relations: int) -> KnowledgeBase:
    names = {"entity": [f"e{i}" for i in range(entities)], "relation": [f"r{i}" for i in range(relations)]}
    vocabularies = [Vocabulary.from_ids(kind, ids) for kind, ids in names.items()]  # type: ignore[arg-type]
    return KnowledgeBase("toy", *vocabularies, {"train": np.array(facts)})


class TestRules:
    """0, 1 and 2 live in 4 and speak 5; 3 lives in 4, too. Relation 0 is `lives in`, 1 is `speaks`."""

    FACTS = ((0, 0, 4), (1, 0, 4), (2, 0, 4), (3, 0, 4), (0, 1, 5), (1, 1, 5), (2, 1, 5))

    @pytest.fixture
    def rules(self) -> tuple[RuleRetriever, KnowledgeBase]:
        kb = toy([*self.FACTS], entities=6, relations=2)
        return RuleRetriever(learn_rules(kb.facts("train"), kb.n_entities, kb.n_relations)), kb

    def test_a_rule_fires_for_a_newcomer_with_the_confidence_it_was_learned_with(
        self, rules: tuple[RuleRetriever, KnowledgeBase]
    ) -> None:
        before, kb = rules
        after = before.extended(grown(kb, ["new"], [(6, 0, 4)]), 6, HERE)
        spoken = after.score_all(Queries(np.array([6]), np.array([1])))
        assert spoken.argmax().item() == 5
        (old, *_), (new, *_) = (each.reasons(who, 1, 5) for each, who in ((before, 3), (after, 6)))
        assert old.confidence == new.confidence == pytest.approx(3 / (4 + 5))  # 3 of the 4 who live there; smoothing 5
        assert (new.support, new.body_count) == (3, 4)

    def test_nothing_changes_for_who_the_new_facts_do_not_speak_of(
        self, rules: tuple[RuleRetriever, KnowledgeBase]
    ) -> None:
        before, kb = rules
        after = before.extended(grown(kb, ["new"], []), 6, HERE)
        queries = every_query(kb, np.arange(6))
        assert torch.equal(after.score_all(queries)[:, :6], before.score_all(queries))
        assert not after.score_all(queries)[:, 6].any()


@pytest.mark.parametrize("settings", [{"words": 16}, {"words": 0}, {"words": 0, "tune": {"warm_up": 0}}])
class TestTexts:
    def test_who_is_called_as_another_scores_as_that_one(
        self, settings: dict[str, Any], towns: KnowledgeBase, encoder_of: Callable[..., str], tmp_path: Path
    ) -> None:
        values = {"encoder": encoder_of(), "epochs": 1, "batch": 32, "negatives": 8, "hidden": 16, **settings}
        before = TextConfig.model_validate(values).fit(towns, tmp_path, HERE).retriever
        kb, new = grown(towns, [towns.entities.name(TWIN), "Brand New"], []), towns.n_entities
        after = with_new_entities(before, kb, new, HERE)
        others = every_query(towns, np.setdiff1d(np.arange(new), [TWIN]))  # a subject has less as its own answer
        scores = scores_of(after, others)
        torch.testing.assert_close(scores[:, :new], scores_of(before, others), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(scores[:, new], scores[:, TWIN], rtol=1e-4, atol=1e-4)
        assert not torch.allclose(scores[:, new + 1], scores[:, TWIN])


def test_a_name_that_is_read_word_by_word_has_the_vector_of_its_words(
    trained: Callable[[str], Scorer], towns: KnowledgeBase
) -> None:
    kb = grown(towns, ["Town 7", "town 3, far away", "Unheard"], [])
    after = with_new_entities(trained("lstm"), kb, towns.n_entities, HERE)
    with torch.no_grad():
        vectors = after.entity_vectors()  # type: ignore[attr-defined]
    torch.testing.assert_close(vectors[towns.n_entities], vectors[TWIN])
    assert len(vectors[-3:].unique(dim=0)) == 3


class TestWhoCannot:
    class Alphabetical:
        """Knows 3 entities, and likes the later ones more, for queries about later ones still more."""

        n_entities = 3

        def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
            scores = torch.as_tensor(queries.entity)[:, None] + torch.arange(3.0)
            return scores if among is None else scores[:, torch.as_tensor(among)]

        def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
            return self.score_all(queries).gather(1, torch.as_tensor(entities))

    def test_newcomers_stand_behind_everybody_and_of_questions_about_them_nothing_is_known(self) -> None:
        kb = toy([(0, 0, 1)], entities=5, relations=1)
        after = with_new_entities(self.Alphabetical(), kb, 3, HERE)
        assert isinstance(after, NewcomersBehind)
        queries = Queries(np.array([2, 4]), np.array([0, 0]))
        assert after.score_all(queries).tolist() == [[2, 3, 4, 1, 1], [0, 0, 0, -1, -1]]
        assert after.score_all(queries, np.array([4, 0])).tolist() == [[1, 2], [-1, 0]]
        assert after.score_candidates(queries, np.array([[4, 1], [3, 2]])).tolist() == [[1, 3], [-1, 0]]
