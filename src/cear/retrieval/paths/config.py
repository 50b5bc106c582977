"""Every setting of the path network and its default, in one place."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveFloat, PositiveInt

from cear.core.settings import Settings


class PathSettings(Settings):
    """How messages pass, and what they are learned from."""

    layers: PositiveInt = 3
    """A message goes so many steps; entities farther away than that share one score."""
    width: PositiveInt = 32
    """Numbers in a message."""
    dependent: bool = True
    """Whether what a relation does to a message depends on the relation that is asked about."""
    folds: int = Field(default=10, ge=2)
    """Training facts are dealt into so many folds. An epoch asks for the facts of one, and walks through the others."""
    by: Literal["pair", "fact"] = "fact"
    """What is dealt: single facts, or pairs of entities with all facts between them, where the split did the same."""
    linked: bool = False
    """With `by: pair`: whether entities that train links to the query's compete with its answers, none of which is one
    of them. If so, the network learns that a link speaks against an entity, which FB15K-237's split rewards."""
    queries: PositiveInt | None = 4000
    """Distinct queries that an epoch asks, drawn from those of its fold; null asks all."""
    learning_rate: PositiveFloat = 5e-3
    """Of Adam, at the start; it falls linearly to zero."""
    validate_facts: PositiveInt = 500
    """A fixed sample of so many validation facts chooses the best epoch."""
