"""Every setting of ExtremeText and its default."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from cear.core.settings import Settings


class TreeSettings(Settings):
    """A label tree over all entities, asked with the words of the query; one model for tails, one for heads."""

    dim: PositiveInt = 300
    """Coordinates of a feature's and of a classifier's vector."""
    buckets: PositiveInt = 2_000_000
    """Numbers that pairs of neighbouring words are hashed to; vectors are kept for those that training uses."""
    frequent: NonNegativeInt = 5
    """How many of the relation's most frequent answers a query is extended by."""
    frequent_weight: PositiveFloat = 0.25
    """What they count in a query, beside 1 for the entity's and 1 for the relation's text."""
    pair_bits: int = Field(default=24, ge=0, le=40)
    """2 to this power hashed weights of single (feature, classifier) pairs, beside the vectors; 0 for none."""
    tree: Literal["huffman", "kmeans"] = "huffman"
    """huffman: frequent entities near the root. kmeans: entities with similar queries and names near each other."""
    arity: int = Field(default=2, ge=2)
    """Children of a node."""
    optimizer: Literal["adagrad", "sgd"] = "adagrad"
    """adagrad: each vector has a step of its own, shorter the more it has moved. sgd: one step for all, as fastText."""
    learning_rate: PositiveFloat = 0.5
    """At the start; it falls in a straight line to 0. For sgd try 0.1."""
    epochs: PositiveInt = 5
    """Passes over the training facts. The learning rate ends with the last one, so there is no early stop."""
    checkpoint_seconds: NonNegativeFloat = Field(
        default=600.0, exclude=True
    )  # in no dump: it does not change the result
    """Seconds between two checkpoints inside an epoch; every epoch ends with one."""
