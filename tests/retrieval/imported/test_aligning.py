"""Ids decide which row is whose; what is missing is said, or has a rule."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
import torch

from cear.core.errors import DataError, MismatchError
from cear.core.types import Queries
from cear.data import KnowledgeBase, Vocabulary
from cear.retrieval import ConvEConfig, DistMultConfig
from cear.retrieval.imported.aligning import scorer_of
from cear.retrieval.imported.model import TrainedModel

ROWS = torch.tensor([[1.0, 2.0], [3.0, 5.0], [7.0, 11.0], [13.0, 17.0]])


def model(entities: list[str], relations: list[str] | None = None) -> TrainedModel:
    relations = relations or ["likes", "knows"]
    tensors = {"entity": ROWS[: len(entities)], "relation": torch.ones(len(relations), 2)}
    return TrainedModel(Path("their/model"), DistMultConfig(rank=2), entities, relations, tensors)


def test_rows_are_found_by_id(kb: KnowledgeBase) -> None:
    scorer = scorer_of(model(["c", "a", "b"]), kb)
    assert scorer.entity(None).tolist() == [[3, 5], [7, 11], [1, 2]]


def test_others_of_the_model_are_left_out_with_a_note(kb: KnowledgeBase, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "cear.retrieval"):
        scorer = scorer_of(model(["z", "c", "a", "b"]), kb)
    assert scorer.n_entities == 3
    assert caplog.messages == ["their/model has 1 entities that the knowledge base lacks: they are left out."]


def test_an_entity_with_training_facts_that_the_model_lacks_is_refused_with_the_closest(kb: KnowledgeBase) -> None:
    with pytest.raises(MismatchError, match=r"lacks 1 of the 3 entities of 'small': 'b' \(closest there: 'B'\)"):
        scorer_of(model(["c", "a", "B"]), kb)


@pytest.mark.parametrize("ids", [["a", "b", "a"], ["a", "b", 3]])
def test_ids_that_do_not_tell_rows_apart_are_refused(ids: list[str]) -> None:
    with pytest.raises(DataError, match="The ids of entities of their/model are not texts that differ"):
        model(ids)


def test_a_relation_that_the_model_lacks_is_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(
        MismatchError, match=r"lacks 1 of the 2 relations of 'small': 'knows' \(closest there: 'know'\)"
    ):
        scorer_of(model(["a", "b", "c"], ["likes", "know"]), kb)


def test_an_entity_without_training_facts_may_be_lacking_and_scores_as_the_mean_does(
    kb: KnowledgeBase, caplog: pytest.LogCaptureFixture
) -> None:
    entities = Vocabulary.from_ids("entity", ["a", "b", "c", "new"])
    splits = {"train": kb.facts("train"), "valid": np.array([[0, 0, 3]])}
    larger = KnowledgeBase("larger", entities, kb.relations, splits)
    scorer = scorer_of(model(["a", "b", "c"]), larger)
    scores = scorer.score_all(Queries(np.array([0, 1]), np.array([0, 3])))
    torch.testing.assert_close(scores[:, 3], scores[:, :3].mean(1))
    assert "lacks 1 entities that no training fact of 'larger' mentions" in caplog.text


def test_conve_without_inverse_relations_is_refused(kb: KnowledgeBase) -> None:
    config = ConvEConfig(rank=4, image_width=2, kernel=2, channels=2)
    tensors = {"entity": torch.ones(3, 4), "relation": torch.ones(2, 4)}
    conve = TrainedModel(Path("their/model"), config, ["a", "b", "c"], ["likes", "knows"], tensors)
    with pytest.raises(DataError, match=r"ConvE without inverse relations: .* cannot rank them"):
        scorer_of(conve, kb)


def test_weights_that_are_missing_are_named(kb: KnowledgeBase) -> None:
    config = ConvEConfig(rank=4, image_width=2, kernel=2, channels=2)
    tensors = {"entity": torch.ones(3, 4), "relation": torch.ones(4, 4), "bias": torch.ones(3)}
    conve = TrainedModel(Path("their/model"), config, ["a", "b", "c"], ["likes", "knows"], tensors)
    with pytest.raises(
        DataError, match=r"not those of `model: conve`: .*places without a weight: .*convolution.0.weight"
    ):
        scorer_of(conve, kb)
