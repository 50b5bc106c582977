"""What every scorer promises, whoever wrote it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from cear.core.context import HERE
from cear.core.errors import ConfigError
from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase, Vocabulary
from cear.retrieval import EMBEDDINGS, RETRIEVERS, DotProductScorer, GradientConfig, RotatEConfig, Scorer
from cear.retrieval.embeddings import TextEmbeddings

N_ENTITIES, N_RELATIONS, RANK = 23, 4, 6

MODELS: list[tuple[str, dict[str, Any]]] = [
    ("complex", {}),
    ("distmult", {}),
    ("conve", {"image_width": 3, "kernel": 2, "channels": 4}),
    ("coper_conve", {"image_width": 3, "kernel": 2, "channels": 4, "generators": 2, "relation_rank": 5}),
    *[
        (model, distance)
        for model in ("transe", "rotate")
        for distance in ({"norm": 1}, {"norm": 2}, {"squared": True})
    ],
]
KINDS = ("rows", "lstm", "text")


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    """Names of one to three words, each word in several of them."""
    names = [" ".join(f"w{i % n}" for n in range(5, 6 + i % 3)) for i in range(N_ENTITIES)]
    entities = Vocabulary.from_ids("entity", [f"e{i}" for i in range(N_ENTITIES)], names=names)
    relations = Vocabulary.from_ids("relation", ["is in", "is near", "is not in", "likes"])
    facts = np.stack([np.arange(N_ENTITIES), np.arange(N_ENTITIES) % N_RELATIONS, np.arange(N_ENTITIES)[::-1]], axis=1)
    return KnowledgeBase("words", entities, relations, {"train": facts})


def build(kb: KnowledgeBase, model: str, settings: dict[str, Any], kind: str = "rows", *, seed: int = 3) -> Scorer:
    """A scorer over some embedding; what texts mean is drawn here, and not read."""
    config = RETRIEVERS[model].model_validate({"rank": RANK, "embedding": {"kind": kind, "scale": 0.7}, **settings})
    assert isinstance(config, GradientConfig)
    if kind != "text":
        return config.build(kb, HERE.with_seed(seed))
    means = torch.randn(N_ENTITIES + N_RELATIONS, 5, generator=torch.Generator().manual_seed(9))
    texts = TextEmbeddings(means[:N_ENTITIES], means[N_ENTITIES:], scale=0.7, seed=seed)
    scorer = config.scorer(texts)
    with torch.no_grad():  # rows start at zero: let a relation and its reciprocal differ
        for weight in scorer.parameters():
            weight += 0.3 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(seed))
    return scorer.eval()


@pytest.fixture(params=[(*model, kind) for model in MODELS for kind in KINDS], ids=str)
def scorer(request: pytest.FixtureRequest, kb: KnowledgeBase) -> Scorer:
    return build(kb, *request.param)


@pytest.fixture
def queries() -> Queries:
    rng = np.random.default_rng(0)
    return Queries(rng.integers(N_ENTITIES, size=11), rng.integers(2 * N_RELATIONS, size=11))


def every_fact(queries: Queries) -> Ints:
    """Each query with each entity as its answer, (query * entity, 3)."""
    s = np.repeat(queries.entity, N_ENTITIES)
    r = np.repeat(queries.relation, N_ENTITIES)
    return np.stack([s, r, np.tile(np.arange(N_ENTITIES), len(queries))], axis=1)


def test_every_model_is_covered_here() -> None:
    assert {model for model, _ in MODELS} == {
        n for n, settings in RETRIEVERS.items() if issubclass(settings, GradientConfig)
    }
    assert set(KINDS) == set(EMBEDDINGS)


def test_score_and_score_all_agree(scorer: Scorer, queries: Queries) -> None:
    one_by_one = scorer.score(every_fact(queries)).reshape(len(queries), N_ENTITIES)
    torch.testing.assert_close(scorer.score_all(queries), one_by_one, atol=1e-5, rtol=1e-5)


def test_gradients_of_score_and_score_all_agree(scorer: Scorer, queries: Queries) -> None:
    weight = torch.randn(len(queries), N_ENTITIES, generator=torch.Generator().manual_seed(1))
    # A fact whose answer is its own query's entity may have distance 0 where a norm has no gradient: none here.
    parameters = list(scorer.parameters())
    together = torch.autograd.grad((scorer.score_all(queries) * weight).sum(), parameters)
    alone = torch.autograd.grad((scorer.score(every_fact(queries)) * weight.flatten()).sum(), parameters)
    for ours, reference in zip(together, alone, strict=True):
        torch.testing.assert_close(ours, reference, atol=2e-4, rtol=1e-4)


def test_scoring_some_entities_gives_those_columns(scorer: Scorer, queries: Queries) -> None:
    among = np.array([2, 5, 19])
    torch.testing.assert_close(scorer.score_all(queries, among), scorer.score_all(queries)[:, among])


def test_a_score_does_not_depend_on_its_batch(scorer: Scorer, queries: Queries) -> None:
    alone = torch.cat([scorer.score_all(queries[i : i + 1]) for i in range(len(queries))])
    torch.testing.assert_close(scorer.score_all(queries), alone, atol=1e-5, rtol=1e-5)


def test_a_relation_and_its_reciprocal_have_parameters_of_their_own(scorer: Scorer) -> None:
    there = scorer.score(np.array([[0, 1, 2]]))
    back = scorer.score(np.array([[2, 1 + N_RELATIONS, 0]]))
    assert not torch.allclose(there, back)


def test_dot_product_scorers_are_what_they_say(scorer: Scorer, queries: Queries) -> None:
    if isinstance(scorer, DotProductScorer):
        product = scorer.query_vectors(queries) @ scorer.entity_vectors().T
        torch.testing.assert_close(product, scorer.score_all(queries))
    else:
        assert not hasattr(scorer, "query_vectors")


def test_relation_scores_agree_with_fact_scores(scorer: Scorer) -> None:
    pairs = np.array([[0, 0, 1], [4, 2, 9]])
    if type(scorer).score_relations is Scorer.score_relations:
        with pytest.raises(ConfigError, match="no relation prediction"):
            scorer.score_relations(pairs)
        return
    scores = scorer.score_relations(pairs)
    for relation in range(2 * N_RELATIONS):
        facts = pairs.copy()
        facts[:, 1] = relation
        torch.testing.assert_close(scores[:, relation], scorer.score(facts))


@pytest.mark.parametrize("model", ["transe", "rotate"])
def test_a_squared_distance_is_the_square_and_ranks_alike(model: str, kb: KnowledgeBase, queries: Queries) -> None:
    plain, squared = (build(kb, model, {"squared": choice}).score_all(queries) for choice in (False, True))
    torch.testing.assert_close(squared, -plain.square())
    assert torch.equal(squared.argsort(-1), plain.argsort(-1))


def test_only_norm_2_is_squared() -> None:
    with pytest.raises(ValueError, match="squared is for norm 2"):
        RotatEConfig(norm=1, squared=True)


@pytest.mark.parametrize("kind", ["rows", "lstm"])
def test_the_same_seed_builds_the_same_scorer(kind: str, kb: KnowledgeBase) -> None:
    first, second, other = (dict(build(kb, "complex", {}, kind, seed=seed).named_parameters()) for seed in (8, 8, 9))
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert not any(torch.equal(first[key], other[key]) for key in first)


def test_candidates_are_scored_as_all_are(scorer: Scorer, queries: Queries) -> None:
    entities = np.random.default_rng(2).integers(N_ENTITIES, size=(len(queries), 4))
    some = scorer.score_all(queries).gather(1, torch.from_numpy(entities))
    torch.testing.assert_close(scorer.score_candidates(queries, entities), some, atol=1e-5, rtol=1e-5)
