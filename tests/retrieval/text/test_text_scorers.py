"""The bi-encoder: two scoring paths that agree, texts alone, and a query that does not answer itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from cear.core.types import Queries
from cear.data import KnowledgeBase, Vocabulary
from cear.retrieval import DotProductScorer, TextConfig, TextScorer
from cear.retrieval.batches import TrainingQueries
from cear.retrieval.text.batches import TextQueries, depth_first, nearest
from cear.retrieval.text.pieces import Pieces
from cear.texts import KeptVectors, TunedVectors, text_vectors, texts


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Text vectors go to a cache of these tests alone."""
    monkeypatch.setenv("CEAR_CACHE", str(tmp_path_factory.mktemp("cache")))


def stirred(scorer: TextScorer) -> TextScorer:
    """The scorer with weights that are no longer those it starts with."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in scorer.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=generator)
    return scorer.eval()


def scorer_of(kb: KnowledgeBase, encoder: str, tune: str = "none", words: int = 0) -> TextScorer:
    config = TextConfig(encoder=encoder, tokens=8, hidden=16, words=words)
    entities, relations = text_vectors(kb, encoder, tokens=8)
    kept, tuned = KeptVectors(entities), TunedVectors(texts(kb.entities), entities, encoder, tokens=8)
    pieces = Pieces.of(kb.entities, words=8) if words else None
    return TextScorer(kept if tune == "none" else tuned, kb.n_entities, relations, config, pieces=pieces, seed=2)


@pytest.fixture(params=[("none", 0), ("none", 16), ("encoder", 0)], ids=["kept", "kept, words", "tuned"])
def scorer(request: pytest.FixtureRequest, towns: KnowledgeBase, encoder_of: Callable[..., str]) -> TextScorer:
    return stirred(scorer_of(towns, encoder_of(), *request.param))


@pytest.fixture
def queries(towns: KnowledgeBase) -> Queries:
    return towns.queries("valid")


class TestContract:
    def test_score_and_score_all_agree(self, scorer: TextScorer, queries: Queries) -> None:
        for answers in (np.arange(len(queries)) % 30, queries.entity):  # anybody, and the subject itself
            facts = np.stack([queries.entity, queries.relation, answers], axis=1)
            every = scorer.score_all(queries)[np.arange(len(queries)), answers]
            torch.testing.assert_close(scorer.score(facts), every, atol=1e-4, rtol=1e-4)

    def test_scoring_some_entities_gives_those_columns_with_and_without_gradients(
        self, scorer: TextScorer, queries: Queries
    ) -> None:
        among = np.array([2, 5, 29])
        some = scorer.score_all(queries, among)
        with torch.inference_mode():
            every = scorer.score_all(queries)
            torch.testing.assert_close(scorer.score_all(queries, among), every[:, among])
        torch.testing.assert_close(some.detach(), every[:, among], atol=1e-4, rtol=1e-4)

    def test_candidates_are_scored_as_all_are(self, scorer: TextScorer, queries: Queries) -> None:
        entities = np.random.default_rng(1).integers(30, size=(len(queries), 5))
        entities[:, 0] = queries.entity  # the subject itself, which is no dot product alone
        some = scorer.score_all(queries).gather(1, torch.from_numpy(entities))
        torch.testing.assert_close(scorer.score_candidates(queries, entities), some, atol=1e-4, rtol=1e-4)
        assert not isinstance(scorer, DotProductScorer)

    def test_a_score_does_not_depend_on_its_batch(self, scorer: TextScorer, queries: Queries) -> None:
        with torch.inference_mode():
            alone = torch.cat([scorer.score_all(queries[i : i + 1]) for i in range(len(queries))])
            torch.testing.assert_close(scorer.score_all(queries), alone, atol=1e-4, rtol=1e-4)

    def test_a_relation_and_its_reciprocal_differ(self, scorer: TextScorer) -> None:
        there, back = (scorer.score(np.array([[0, relation, 2]])) for relation in (1, 1 + 3))
        assert not torch.allclose(there, back)

    def test_a_score_is_a_cosine_over_a_temperature_and_another_of_words(
        self, scorer: TextScorer, queries: Queries
    ) -> None:
        scales = [scorer.log_scale.exp().expand(len(queries))]
        if scorer.words is not None:
            scales.append(scorer.words.log_scale(torch.as_tensor(queries.relation)).exp().squeeze(-1))
        width = scorer.entity_correction.in_features
        of_entities = scorer.entity_vectors().tensor_split([width], -1)[: len(scales)]
        of_queries = scorer.query_vectors(queries).tensor_split([width], -1)[: len(scales)]
        for entity, query, scale in zip(of_entities, of_queries, scales, strict=True):
            torch.testing.assert_close(entity.norm(dim=-1), torch.ones(30))
            torch.testing.assert_close(query.norm(dim=-1), scale)

    def test_new_weights_make_new_vectors_of_entities(self, scorer: TextScorer, queries: Queries) -> None:
        with torch.inference_mode():
            before = scorer.score_all(queries)
        weights = {key: value + 0.05 * torch.ones_like(value) for key, value in scorer.state_dict().items()}
        scorer.load_state_dict(weights)
        with torch.inference_mode():
            after = scorer.score_all(queries)
            anew = scorer.eval().score_all(queries)
        torch.testing.assert_close(after, anew, atol=1e-4, rtol=1e-4)
        assert not torch.allclose(before, after)

    def test_in_training_both_sides_have_gradients(self, scorer: TextScorer, queries: Queries) -> None:
        scorer.train()
        for vectors in (scorer.query_vectors(queries), scorer.entity_vectors(np.array([1, 2]))):
            assert any(
                g is not None for g in torch.autograd.grad(vectors[0, 0], scorer.parameters(), allow_unused=True)
            )


def test_untrained_an_answer_is_what_reads_like_the_subject_and_is_not_the_subject(
    towns: KnowledgeBase, queries: Queries, encoder_of: Callable[..., str]
) -> None:
    scorer = scorer_of(towns, encoder_of())
    vectors, _ = text_vectors(towns, encoder_of(), tokens=8)
    alike = vectors[queries.entity] @ vectors.T
    alike[np.arange(len(queries)), queries.entity] -= 1.0  # but not the subject itself
    torch.testing.assert_close(scorer.score_all(queries), 20 * alike, atol=1e-4, rtol=1e-4)


def test_untrained_no_query_answers_itself_first_where_words_count_too(
    towns: KnowledgeBase, encoder_of: Callable[..., str]
) -> None:
    scores = scorer_of(towns, encoder_of(), words=64).score_all(towns.queries("train"))
    own = scores[np.arange(len(scores)), towns.queries("train").entity]
    torch.testing.assert_close(own, torch.zeros_like(own), atol=1e-3, rtol=0)
    assert (scores.max(dim=1).values > own).all()


@pytest.mark.parametrize(("tune", "words"), [("none", 0), ("none", 16), ("encoder", 0)])
def test_only_the_text_counts_so_an_entity_without_facts_is_scored_like_its_twin(
    tune: str, words: int, towns: KnowledgeBase, queries: Queries, encoder_of: Callable[..., str]
) -> None:
    names = [*towns.entities.table["name"].to_list(), "Town 3"]
    entities = Vocabulary.from_ids("entity", [f"e{i}" for i in range(31)], names=names)
    kb = KnowledgeBase("more", entities, towns.relations, {"train": towns.facts("train")})
    scorer = stirred(scorer_of(kb, encoder_of(), tune, words))
    if isinstance(scorer.texts, TunedVectors):
        scorer.texts.refresh_cache()
    scores = scorer.score_all(queries[queries.entity != 3])  # as its own answer it is not
    torch.testing.assert_close(scores[:, 30], scores[:, 3], atol=1e-4, rtol=1e-4)
    assert not torch.allclose(scores[:, 30], scores[:, 4])


class TestNegatives:
    def test_the_nearest_texts_on_paper(self) -> None:
        vectors = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]])
        assert nearest(vectors, 1).tolist() == [[1], [0], [1], [2]]
        assert nearest(vectors, 9).shape == (4, 3), "itself is no neighbour"

    def test_subjects_and_neighbours_of_answers_compete_besides_the_sample(self, towns: KnowledgeBase) -> None:
        known = towns.known("train")
        near = (np.arange(30)[:, None] + 7) % 30  # one neighbour each
        plain = TrainingQueries(known, 30, size=3, negatives=2, seed=0)
        for step, batch in enumerate(TextQueries(known, 30, near, size=3, negatives=2, hard=1, seed=0).epoch(1)):
            sample = plain.competitors(batch.queries, batch.answers, 1, step)
            assert sample is not None
            assert batch.among is not None
            expected = {*sample, *batch.queries.entity, *near[batch.answers.values, 0]}
            assert batch.among.tolist() == sorted(expected)

    def test_none_need_be_drawn(self, towns: KnowledgeBase) -> None:
        nobody = np.zeros((30, 1), np.int64)
        batches = TextQueries(towns.known("train"), 30, nobody, size=3, negatives=0, hard=0, seed=0)
        batch = next(batches.epoch(0))
        assert batch.among is not None
        assert set(batch.among) == {*batch.queries.entity, *batch.answers.values}


class TestNeighbours:
    def test_a_walk_visits_everyone_once_and_goes_on_to_a_neighbour_where_there_is_one(self) -> None:
        one, other = np.array([0, 1, 2, 4]), np.array([1, 2, 3, 5])  # a path of four, a pair, and one alone
        for seed in range(20):
            place = depth_first(one, other, 7, np.random.default_rng(seed))
            assert sorted(place) == list(range(7))
            assert abs(place[4] - place[5]) == 1
            assert np.ptp(place[:4]) == 3, "a part is left only when all of it is visited"

    def test_every_query_is_taken_once_an_epoch_and_subjects_meet(self, towns: KnowledgeBase) -> None:
        known, nobody = towns.known("train"), np.zeros((30, 1), np.int64)
        batches = TextQueries(known, 30, nobody, size=16, negatives=0, hard=0, seed=0)
        taken = batches.order(1)
        assert sorted(taken) == list(range(len(known.queries)))
        assert not np.array_equal(taken, batches.order(2))
        assert np.array_equal(taken, batches.order(1)), "a function of seed and epoch"

        def texts_to_read(queries: TrainingQueries) -> int:
            return sum(len(np.unique(batch.queries.entity)) for epoch in range(5) for batch in queries.epoch(epoch))

        anyhow = TrainingQueries(known, 30, size=16, negatives=0, seed=0)
        assert texts_to_read(batches) < texts_to_read(anyhow)
