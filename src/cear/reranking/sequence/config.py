"""The settings of the paper's re-ranker; the defaults are the paper's, on the embedded encoder."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import PositiveFloat, PositiveInt, model_validator

from cear.reranking.list_settings import ListSettings
from cear.texts import Init


class SequenceSettings(ListSettings):
    """What the paper's re-ranker reads, and how it is trained."""

    added_later: ClassVar[frozenset[str]] = ListSettings.added_later | {"extra_scores"}
    describing: ClassVar[frozenset[str]] = ListSettings.describing | {"extra_scores"}

    init: Init = "pretrained"
    """random forgets what the encoder learned from text: an ablation."""
    attention: Literal["cross", "independent"] = "cross"
    """independent shows the encoder one candidate at a time: an ablation."""
    order: Literal["stage1", "shuffled"] = "stage1"
    """shuffled hides Stage 1's order from the encoder: an ablation."""
    text: Literal["name", "description"] = "description"
    """description writes the name and, where there is one, the description after it."""
    form_tokens: PositiveInt = 10
    """A surface form is cut to so many tokens."""
    features: Literal["none", "scores"] = "none"
    """scores gives Stage 1's scores and ranks to the head, and starts from Stage 1's order."""
    extra_scores: bool = False
    """Gives the head what the retrievers of `candidates.extra_retrievers` say too; needs features: scores."""
    hidden: PositiveInt = 100
    """Width of the head's hidden layer."""
    loss: Literal["bce", "softmax"] = "bce"
    """bce judges every candidate on its own, as the paper does; softmax compares them."""
    learning_rate: PositiveFloat = 2e-5
    """Of the encoder, at the start; it falls linearly to zero."""
    head_learning_rate: PositiveFloat = 1e-3
    """Of the head, which starts from nothing."""

    @model_validator(mode="after")
    def _scores_of_others_need_those_of_stage1(self) -> Self:
        if self.extra_scores and self.features != "scores":
            raise ValueError("extra_scores gives scores to a head that reads none; set features: scores")
        return self

    @model_validator(mode="after")
    def _a_place_in_the_sequence_is_a_rank(self) -> Self:
        if not self.list_inputs and self.attention == "cross" and self.order == "stage1":
            raise ValueError(
                "list_inputs: false hides a candidate's rank among the others, and its place in the sequence would "
                "show it; set order: shuffled"
            )
        return self
