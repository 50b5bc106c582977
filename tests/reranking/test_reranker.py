"""The re-ranker: what its scores depend on, and what they do not; saved, it comes back the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import Lists
from cear.core.errors import ConfigError, DataError
from cear.core.tensors import read_tensors, write_tensors
from cear.core.types import NO_ENTITY, Candidates, Queries
from cear.data import KnowledgeBase
from cear.reranking import SequenceReranker, Upstream, load_reranker
from cear.reranking.features import log_probabilities

FAMILIES = ("bert", "roberta", "mpnet", "modernbert")
ATTENTION = ("cross", "independent")

MakeReranker = Callable[..., SequenceReranker]


def with_entities(lists: Lists, entities: Any) -> Lists:
    """The same lists, other candidates in the same places."""
    scores = np.where(entities == NO_ENTITY, -np.inf, lists.candidates.scores)
    return Lists(lists.queries, Candidates(entities, scores), lists.manifest)


def padded(lists: Lists) -> Lists:
    """Every second list loses its last two candidates."""
    entities = lists.candidates.entities.copy()
    entities[::2, -2:] = NO_ENTITY
    return with_entities(lists, entities)


@pytest.mark.parametrize("attention", ATTENTION)
class TestAScore:
    @pytest.mark.parametrize("family", FAMILIES)
    def test_does_not_depend_on_what_shares_its_batch(
        self, reranker_of: MakeReranker, lists: Lists, family: str, attention: str
    ) -> None:
        """Alone, without any padding, or beside longer lists: the same."""
        some = padded(lists)[np.arange(0, len(lists), 5)]
        together = reranker_of(family, attention=attention, max_tokens=5000).rerank(some)
        one_by_one = reranker_of(family, attention=attention, max_tokens=1)
        alone = np.concatenate([one_by_one.rerank(some[row : row + 1]) for row in range(len(some))])
        np.testing.assert_allclose(together, alone, atol=1e-5)
        assert np.ptp(together[np.isfinite(together)]) > 0.01, "the scores differ at all"

    def test_is_there_for_every_candidate_and_for_no_pad(
        self, reranker_of: MakeReranker, lists: Lists, attention: str
    ) -> None:
        some = padded(lists)
        scores = reranker_of(attention=attention).rerank(some)
        assert scores.shape == some.candidates.entities.shape
        assert np.array_equal(np.isfinite(scores), some.candidates.entities != NO_ENTITY)
        assert np.isneginf(scores[~np.isfinite(scores)]).all()

    def test_depends_on_which_end_is_asked_for(self, reranker_of: MakeReranker, lists: Lists, attention: str) -> None:
        ends = [Queries(lists.queries.entity, lists.queries.relation % 3 + shift) for shift in (0, 3)]
        reranker = reranker_of(attention=attention)
        tail, head = (reranker.rerank(Lists(end, lists.candidates, lists.manifest)) for end in ends)
        assert np.abs(tail - head).max() > 1e-3

    def test_an_empty_list_of_lists_has_none(self, reranker_of: MakeReranker, lists: Lists, attention: str) -> None:
        assert reranker_of(attention=attention).rerank(lists[:0]).shape == (0, 6)


class TestTheOtherCandidates:
    @pytest.fixture
    def changed(self, lists: Lists) -> Lists:
        """The first candidate stays, each other one is replaced."""
        entities = lists.candidates.entities.copy()
        entities[:, 1:] = (entities[:, 1:] + 11) % 30
        return with_entities(lists, entities)

    def test_matter_when_they_share_a_sequence(self, reranker_of: MakeReranker, lists: Lists, changed: Lists) -> None:
        reranker = reranker_of(attention="cross")
        assert np.abs(reranker.rerank(lists)[:, 0] - reranker.rerank(changed)[:, 0]).max() > 1e-3

    def test_do_not_matter_when_each_is_read_alone(
        self, reranker_of: MakeReranker, lists: Lists, changed: Lists
    ) -> None:
        reranker = reranker_of(attention="independent")
        np.testing.assert_allclose(reranker.rerank(lists)[:, 0], reranker.rerank(changed)[:, 0], atol=1e-5)


class TestAnotherOrder:
    @staticmethod
    def permuted(lists: Lists) -> tuple[Lists, Any]:
        order = np.random.default_rng(0).permuted(np.tile(np.arange(6), (len(lists), 1)), axis=1)
        return with_entities(lists, np.take_along_axis(lists.candidates.entities, order, axis=1)), order

    def test_of_the_list_permutes_the_scores_when_each_candidate_is_read_alone(
        self, reranker_of: MakeReranker, lists: Lists
    ) -> None:
        reranker, (other, order) = reranker_of(attention="independent"), self.permuted(lists)
        expected = np.take_along_axis(reranker.rerank(lists), order, axis=1)
        np.testing.assert_allclose(reranker.rerank(other), expected, atol=1e-5)

    def test_of_the_list_is_seen_when_they_share_a_sequence(self, reranker_of: MakeReranker, lists: Lists) -> None:
        reranker, (other, order) = reranker_of(attention="cross"), self.permuted(lists)
        expected = np.take_along_axis(reranker.rerank(lists), order, axis=1)
        assert np.abs(reranker.rerank(other) - expected).max() > 1e-3

    def test_in_the_sequence_is_a_function_of_query_and_seed(self, reranker_of: MakeReranker, lists: Lists) -> None:
        shuffled, otherwise = reranker_of(order="shuffled"), reranker_of(order="shuffled", seed=1)
        otherwise.model.load_state_dict(shuffled.model.state_dict())
        some = padded(lists)
        whole = shuffled.rerank(some)
        alone = np.concatenate([shuffled.rerank(some[i : i + 1]) for i in range(len(some))])
        np.testing.assert_allclose(alone, whole, atol=1e-5)
        real = some.candidates.entities != NO_ENTITY
        assert np.abs(whole[real] - otherwise.rerank(some)[real]).max() > 1e-3

    def test_shuffled_scores_go_back_to_their_candidates(self, reranker_of: MakeReranker, lists: Lists) -> None:
        """Read alone, a candidate has the same score wherever it was put."""
        plain, shuffled = (
            reranker_of(order=order, attention="independent", features="scores").rerank(lists)
            for order in ("stage1", "shuffled")
        )
        np.testing.assert_allclose(plain, shuffled, atol=1e-5)
        together = [reranker_of(order=order).rerank(lists) for order in ("stage1", "shuffled")]
        assert np.abs(together[0] - together[1]).max() > 1e-3


def test_with_features_an_untrained_model_is_stage_1(reranker_of: MakeReranker, lists: Lists) -> None:
    some = padded(lists)
    scores = reranker_of(features="scores").rerank(some)
    np.testing.assert_allclose(scores, log_probabilities(some.candidates), atol=1e-6)
    ours, its = scores, some.candidates.scores
    assert np.array_equal(ours[:, :, None] > ours[:, None], its[:, :, None] > its[:, None]), "the same order exactly"


def test_without_what_it_learned_from_text_it_scores_otherwise(reranker_of: MakeReranker, lists: Lists) -> None:
    trained, fresh = (reranker_of(init=init).rerank(lists[:4]) for init in ("pretrained", "random"))
    assert np.abs(trained - fresh).max() > 1e-3


class TestLongLists:
    def test_are_all_scored_with_shorter_names(self, reranker_of: MakeReranker, lists: Lists) -> None:
        roomy, tight = reranker_of(positions=64), reranker_of(positions=20)
        assert not roomy.shortened(lists).any()
        assert tight.shortened(lists).all(), "two tokens a name do not fit"
        scores = tight.rerank(lists)
        assert np.isfinite(scores).all()
        assert (tight.lengths(lists) <= 20).all()

    def test_that_cannot_fit_are_an_error_not_a_cut(self, reranker_of: MakeReranker, lists: Lists) -> None:
        with pytest.raises(ConfigError, match="6 candidates do not fit into 16 positions"):
            reranker_of(positions=16).rerank(lists)

    def test_read_one_at_a_time_fit_anywhere(self, reranker_of: MakeReranker, lists: Lists) -> None:
        assert np.isfinite(reranker_of(positions=16, attention="independent").rerank(lists)).all()


class TestSaving:
    @pytest.mark.parametrize(
        "settings",
        [{}, {"features": "scores", "order": "shuffled"}, {"init": "random", "attention": "independent"}],
        ids=["plain", "scores, shuffled", "random, independent"],
    )
    def test_it_comes_back_the_same(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase, tmp_path: Path, settings: dict[str, Any]
    ) -> None:
        reranker = reranker_of(seed=3, **settings)
        with torch.no_grad():
            for parameter in reranker.model.parameters():
                parameter.add_(0.01)  # as training would
        reranker.save_pretrained(tmp_path)
        again = load_reranker(tmp_path, Upstream(towns))
        assert again.config == reranker.config
        np.testing.assert_allclose(again.rerank(lists), reranker.rerank(lists), atol=1e-6)

    @pytest.mark.parametrize("family", FAMILIES)
    def test_whatever_its_encoder(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase, tmp_path: Path, family: str
    ) -> None:
        reranker = reranker_of(family)
        reranker.save_pretrained(tmp_path)
        again = load_reranker(tmp_path, Upstream(towns))
        np.testing.assert_allclose(again.rerank(lists[:5]), reranker.rerank(lists[:5]), atol=1e-6)

    def test_its_encoder_is_one_of_hugging_face(self, reranker_of: MakeReranker, tmp_path: Path) -> None:
        from transformers import AutoModel, AutoTokenizer

        reranker_of().save_pretrained(tmp_path)
        model = AutoModel.from_pretrained(tmp_path / "encoder")
        tokenizer = AutoTokenizer.from_pretrained(tmp_path / "encoder")
        assert model.get_input_embeddings().num_embeddings == len(tokenizer)
        assert not list(tmp_path.rglob("*.bin")), "weights are safetensors"

    def test_a_missing_weight_is_not_passed_over(
        self, reranker_of: MakeReranker, towns: KnowledgeBase, tmp_path: Path
    ) -> None:
        reranker_of().save_pretrained(tmp_path)
        head, _ = read_tensors(tmp_path / "head.safetensors")
        del head["head.2.weight"]
        write_tensors(tmp_path / "head.safetensors", head)
        with pytest.raises(DataError, match=r"head\.2\.weight"):
            load_reranker(tmp_path, Upstream(towns))
        (tmp_path / "head.safetensors").unlink()
        with pytest.raises(DataError, match=r"head\.safetensors cannot be read"):
            load_reranker(tmp_path, Upstream(towns))
