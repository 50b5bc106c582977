"""Every setting of Stage 2 and its default, in one place. The defaults are the paper's, on the embedded encoder."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from cear.settings import Settings

EMBEDDED = "embedded"


class SequenceConfig(Settings):
    """The paper's re-ranker: the query and its candidates in one sequence of a language model."""

    kind: Literal["sequence"] = "sequence"
    """Which re-ranker."""
    encoder: str = EMBEDDED
    """embedded (all-MiniLM-L6-v2), a folder with a Hugging Face encoder, or a name on its hub."""
    init: Literal["pretrained", "random"] = "pretrained"
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
    dropout: float = Field(0.1, ge=0, lt=1)
    """In the encoder's hidden layers; its attention has none, which keeps attention fused."""
    loss: Literal["bce", "softmax"] = "bce"
    """bce judges every candidate on its own, as the paper does; softmax compares them."""
    learning_rate: PositiveFloat = 2e-5
    """Of the encoder, at the start; it falls linearly to zero."""
    head_learning_rate: PositiveFloat = 1e-3
    """Of the head, which starts from nothing."""
    max_tokens: PositiveInt = 5000
    """Tokens in a batch of training, padding included."""
    lists: PositiveInt | None = None
    """Training lists in an epoch, drawn anew each time; null takes all."""
    epochs: PositiveInt = 10
    """Passes over the training lists, at most."""
    validate_facts: PositiveInt = 500
    """Validation facts, two queries each, that choose the best epoch."""
    patience: PositiveInt = 3
    """Epochs without a better MRR before training stops early."""
    checkpoint_seconds: NonNegativeFloat = Field(60.0, exclude=True)  # in no dump: it does not change the result
    """Seconds between two checkpoints inside an epoch: what a kill may cost."""
