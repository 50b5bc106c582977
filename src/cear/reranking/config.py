"""Every setting of Stage 2 and its default, in one place. `sequence` has the paper's, on the embedded encoder."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from cear.core.settings import Settings
from cear.texts import EMBEDDED, Init


class RerankerConfig(Settings):
    """What every re-ranker is trained by."""

    encoder: str = EMBEDDED
    """Who reads the texts: embedded (all-MiniLM-L6-v2), a folder with a Hugging Face encoder, or a name on its hub."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """In hidden layers; attention has none, which keeps it fused."""
    loss: Literal["bce", "softmax"] = "softmax"
    """bce judges every candidate on its own, as the paper does; softmax compares them."""
    learning_rate: PositiveFloat = 1e-3
    """At the start; it falls linearly to zero."""
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


class SequenceConfig(RerankerConfig):
    """The paper's re-ranker: the query and its candidates in one sequence of a language model."""

    kind: Literal["sequence"] = "sequence"
    """Which re-ranker."""
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


class EndToEndConfig(Settings):
    """A last phase of training, in which the loss reaches the text encoder and Stage 1's vectors."""

    encoder_learning_rate: PositiveFloat = 2e-5
    """Of the text encoder, at the start; like the others it falls linearly to zero."""
    vector_learning_rate: PositiveFloat = 1e-4
    """Of Stage 1's vectors, where the re-ranker reads them."""
    learning_rate: PositiveFloat = 1e-4
    """Of the network itself."""
    layers: PositiveInt | None = 2
    """So many of the encoder's last layers learn; null lets all of it, the vectors of words too."""
    candidates: PositiveInt = 4
    """Of each list so many, Stage 1's best, are read by the encoder as it learns, beside the subject; the others are
    remembered as they were read last."""
    max_tokens: PositiveInt = 2000
    """Candidates and queries in a batch."""
    lists: PositiveInt | None = 4000
    """Training lists in an epoch, drawn anew each time; null takes all."""
    epochs: PositiveInt = 1
    """Passes over these lists; each ends with reading all texts again."""


class WideConfig(RerankerConfig):
    """Each candidate is one token: its text, what the retrievers say of it, what the graph says of it."""

    kind: Literal["wide"] = "wide"
    """Which re-ranker."""
    text: bool = True
    """Text vectors of subject, relation and candidates; false leaves them out, as with the groups below."""
    scores: bool = True
    """Stage 1's probability and rank, beside the log-probability that every final score starts from."""
    others: bool = True
    """What the retrievers of `candidates.also` say."""
    vectors: bool = False
    """Stage 1's vectors of query and candidate, and their product; needs one fold, whose vectors they are."""
    graph: bool = True
    """Counts of training facts: degrees, frequencies, shared neighbours."""
    linked: bool = False
    """Whether a training fact joins query and candidate; folds by pair teach that no answer is such (docs/wide.md)."""
    attention: Literal["cross", "independent"] = "cross"
    """independent lets a candidate see the query and itself alone: an ablation."""
    end_to_end: EndToEndConfig | None = None
    """A last phase of training, kept if validation is better after it; null leaves it out."""
    text_tokens: PositiveInt = 48
    """A text is cut to so many tokens before it is encoded."""
    width: PositiveInt = 128
    """Of a token."""
    layers: PositiveInt = 2
    """Of the transformer over query and candidates."""
    heads: PositiveInt = 4
    """Of its attention."""
    max_tokens: PositiveInt = 10_000
    """Candidates and queries in a batch of training."""
    epochs: PositiveInt = 3
    """Passes over the training lists, at most."""
    validate_facts: PositiveInt = 3000
    """Validation facts, two queries each, that choose the best epoch."""

    @model_validator(mode="after")
    def _something_lies_before_the_network(self) -> Self:
        if self.end_to_end is not None and not (self.text or self.vectors):
            raise ValueError("end_to_end trains the text encoder and Stage 1's vectors; set text or vectors to true")
        return self
