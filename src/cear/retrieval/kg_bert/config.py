"""The settings of a language model that reads facts; the defaults are those of KG-BERT, on the embedded encoder."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from cear.core.settings import Settings
from cear.texts import EMBEDDED
from cear.training import Schedule


class FactForms(Settings):
    """What is read of the parts of a fact."""

    text: Literal["name", "description"] = "description"
    """description writes the name of an entity and, where there is one, the description after it."""
    form_tokens: PositiveInt = 24
    """The text of an entity or a relation is cut to so many tokens."""


class Corruption(Settings):
    """What a model that judges facts learns to refuse."""

    negatives: PositiveInt = 5
    """Entities drawn for each training fact to stand in the place of its subject or its object."""


class ReadingSettings(FactForms):
    """A language model over facts, and how it is trained."""

    encoder: str = EMBEDDED
    """Who reads the texts: embedded (all-MiniLM-L6-v2), a folder with a Hugging Face encoder, or a name on its hub."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """In hidden layers and before the last; attention has none, which keeps it fused."""
    learning_rate: PositiveFloat = 5e-5
    """At the start; it falls linearly to zero."""
    weight_decay: NonNegativeFloat = 0.01
    """Of AdamW: what every weight shrinks by, times the learning rate, in each step."""
    max_tokens: PositiveInt = 4000
    """Tokens in a batch of training, padding included."""
    facts_per_epoch: PositiveInt | None = None
    """Facts in an epoch, corrupted ones included, drawn anew each time; null takes all."""
    epochs: PositiveInt = 5
    """Passes over the facts, at most."""
    validate_facts: PositiveInt = 500
    """Validation facts that choose the best epoch."""
    patience: PositiveInt = 3
    """Epochs without a better MRR before training stops early."""
    checkpoint_seconds: NonNegativeFloat = Field(
        default=60.0, exclude=True
    )  # in no dump: it does not change the result
    """Seconds between two checkpoints inside an epoch: what a kill may cost."""

    @property
    def schedule(self) -> Schedule:
        """What the training loop reads."""
        return Schedule(self.epochs, 1, self.patience, self.checkpoint_seconds)
