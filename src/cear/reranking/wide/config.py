"""The settings of the wide re-ranker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import PositiveFloat, PositiveInt, model_validator

from cear.core.settings import Settings
from cear.reranking.list_settings import ListSettings


class EndToEndConfig(Settings):
    """A last phase of training, in which the loss reaches the text encoder and Stage 1's vectors."""

    renamed: ClassVar[Mapping[str, str]] = {"lists": "lists_per_epoch"}

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
    lists_per_epoch: PositiveInt | None = 4000
    """Training lists in an epoch, drawn anew each time; null takes all."""
    epochs: PositiveInt = 1
    """Passes over these lists; each ends with reading all texts again."""


class WideSettings(ListSettings):
    """What the wide re-ranker reads, and how it is trained."""

    renamed: ClassVar[dict[str, str]] = ListSettings.renamed | {"others": "extra_scores"}
    added_later: ClassVar[frozenset[str]] = ListSettings.added_later | {"answered", "align_inputs"}
    describing: ClassVar[frozenset[str]] = ListSettings.describing | {
        "scores",
        "extra_scores",
        "graph",
        "linked",
        "answered",
    }

    text: bool = True
    """Text vectors of subject, relation and candidates; false leaves them out, as with the groups below."""
    scores: bool = True
    """Stage 1's probability and rank, beside the log-probability that every final score starts from."""
    extra_scores: bool = True
    """What the retrievers of `candidates.extra_retrievers` say."""
    vectors: bool = False
    """Stage 1's vectors of query and candidate, and their product; needs one fold, whose vectors they are."""
    graph: bool = True
    """Counts of training facts: degrees, frequencies, shared neighbours."""
    linked: bool = False
    """Whether a training fact joins query and candidate; folds by pair teach that no answer is such (docs/wide.md)."""
    answered: bool = True
    """In `graph`, how many facts of the relation it answers; false hides whose place is still free (docs/wide.md)."""
    align_inputs: bool = False
    """Gives what retrievers say in training lists the mean and deviation that it has in validation lists: who has not
    seen a fold scores otherwise than who has seen all (docs/wide.md)."""
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
