"""How candidate lists are made, for training and for use."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, PositiveInt, model_validator

from cear.core.settings import Settings
from cear.retrieval import Stage1Config


class CrossfitConfig(Settings):
    """Lists for training come from a Stage 1 that has not seen their facts."""

    folds: int = Field(10, ge=2)
    """Training facts are dealt into so many folds."""
    by: Literal["pair", "fact"] = "pair"
    """pair holds out all facts of two entities together, as FB15K-237 does; fact each alone, as a random split does."""
    use: PositiveInt = 1
    """How many folds are held out in turn: each costs a training of Stage 1 and gives its share of lists."""
    epochs: PositiveInt | None = None
    """Epochs of a fold's Stage 1; null takes those of Stage 1 itself."""

    @model_validator(mode="after")
    def _there_are_so_many_folds(self) -> Self:
        if self.use > self.folds:
            raise ValueError(f"use: {self.use} of {self.folds} folds cannot be held out")
        return self


class CandidatesConfig(Settings):
    """The lists that Stage 1 hands to Stage 2."""

    k: PositiveInt = 40
    """Candidates of a query."""
    known: Literal["keep", "drop"] = "drop"
    """keep leaves training answers in the lists, as the paper does; drop gives their slots to new ones."""
    crossfit: CrossfitConfig | None = CrossfitConfig()
    """null is the paper's own way: training lists from the Stage 1 that saw their facts."""
    queries: PositiveInt | None = None
    """Training queries that lists are made of, drawn from those of each fold; null takes all. For millions of facts."""
    also: dict[str, Stage1Config] = Field(default_factory=dict)
    """Retrievers beside Stage 1, by name: their best candidates join the lists, their scores are inputs of `wide`."""

    @model_validator(mode="after")
    def _something_is_left_to_learn(self) -> Self:
        if self.crossfit is None and self.known == "drop":
            raise ValueError(
                "without crossfit every answer of a training list is a known one, so `known: drop` would leave "
                "nothing to learn; set known: keep, or crossfit: {folds: 10}"
            )
        return self
