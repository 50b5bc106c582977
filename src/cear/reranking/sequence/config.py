"""The settings of the paper's re-ranker; the defaults are the paper's, on the embedded encoder."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveFloat, PositiveInt

from cear.reranking.reranker import RerankerConfig
from cear.texts import Init


class SequenceSettings(RerankerConfig):
    """What the paper's re-ranker reads, and how it is trained."""

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
    hidden: PositiveInt = 100
    """Width of the head's hidden layer."""
    loss: Literal["bce", "softmax"] = "bce"
    """bce judges every candidate on its own, as the paper does; softmax compares them."""
    learning_rate: PositiveFloat = 2e-5
    """Of the encoder, at the start; it falls linearly to zero."""
    head_learning_rate: PositiveFloat = 1e-3
    """Of the head, which starts from nothing."""
