"""How candidate lists are made, for training and for use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, PositiveInt, StringConstraints, model_validator

from cear.core.names import IDENTIFIER, LONGEST
from cear.core.settings import Settings
from cear.retrieval import AnyRetriever

Name = Annotated[str, StringConstraints(pattern=IDENTIFIER, max_length=LONGEST)]


class CrossfitConfig(Settings):
    """Lists for training come from retrievers that have not seen their facts."""

    renamed: ClassVar[Mapping[str, str]] = {"use": "held_out_folds"}

    folds: int = Field(default=10, ge=2)
    """Training facts are dealt into so many folds."""
    by: Literal["pair", "fact"] = "pair"
    """pair holds out all facts of two entities together, as FB15K-237 does; fact each alone, as a random split does."""
    held_out_folds: PositiveInt = 1
    """How many folds are held out in turn: each costs a training of the retrievers and gives its share of lists."""
    epochs: PositiveInt | None = None
    """Epochs of a fold's Stage 1; null takes those of Stage 1 itself."""

    @model_validator(mode="after")
    def _there_are_so_many_folds(self) -> Self:
        if self.held_out_folds > self.folds:
            raise ValueError(f"held_out_folds: {self.held_out_folds} of {self.folds} folds cannot be held out")
        return self


class CandidatesConfig(Settings):
    """The lists that Stage 1 hands to Stage 2."""

    renamed: ClassVar[Mapping[str, str]] = {"also": "extra_retrievers"}

    k: PositiveInt = 40
    """Candidates of a query."""
    known: Literal["keep", "drop"] = "drop"
    """keep leaves training answers in the lists, as the paper does; drop gives their slots to new ones."""
    crossfit: CrossfitConfig | None = CrossfitConfig()
    """null is the paper's own way: training lists from the Stage 1 that saw their facts."""
    learn_from: Literal["train", "valid"] = "train"
    """valid: lists of half of the validation facts, which no retriever has learned, so that there are no folds; the
    other half alone then chooses the epoch and the fusion. For a Stage 1 that cannot be trained again."""
    queries: PositiveInt | None = None
    """Training queries that lists are made of, drawn from those of each fold; null takes all. For millions of facts."""
    lists: str | None = None
    """A file of lists to learn from that you made yourself (docs/lists-and-exports.md); null makes them."""
    extra_retrievers: dict[Name, AnyRetriever] = Field(default_factory=dict)
    """Retrievers beside Stage 1, by name: their best candidates join the lists, their scores are features of `wide`."""

    @property
    def held_out(self) -> bool:
        """Whether the lists to learn from are of facts that their retrievers have not seen."""
        return self.lists is None and (self.crossfit is not None or self.learn_from == "valid")

    @model_validator(mode="before")
    @classmethod
    def _no_folds_with_valid(cls, values: Any) -> Any:
        """Without a word about folds there are none when lists are those of validation facts."""
        if isinstance(values, dict) and values.get("learn_from") == "valid":
            return {"crossfit": None, **values}
        return values

    @model_validator(mode="after")
    def _one_way_to_learn(self) -> Self:
        if self.learn_from == "valid" and (self.crossfit is not None or self.lists is not None):
            other = "lists" if self.crossfit is None else "crossfit"
            raise ValueError(f"learn_from: valid makes its own lists, without folds; leave {other} out, or learn_from")
        return self

    @model_validator(mode="after")
    def _names_are_free(self) -> Self:
        if "stage1" in self.extra_retrievers:
            raise ValueError("extra_retrievers: stage1 is what the first retriever is called; take another name")
        if "lists" in self.extra_retrievers and self.lists is not None:
            raise ValueError(
                "extra_retrievers: lists is what a run calls the file of candidates.lists; take another name"
            )
        return self

    @model_validator(mode="after")
    def _something_is_left_to_learn(self) -> Self:
        if not self.held_out and self.known == "drop" and self.lists is None:
            raise ValueError(
                "without crossfit every answer of a training list is a known one, so `known: drop` would leave "
                "nothing to learn; set known: keep, or crossfit: {folds: 10}"
            )
        return self
