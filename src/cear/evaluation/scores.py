"""Scores fit to be ranked: asked for in blocks of bounded memory, and refused when not finite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import torch
from torch import Tensor

from cear.core.blocks import blocks, rows_within
from cear.core.errors import ScoreError
from cear.core.types import Floats, Ints, Queries

MEMORY = 128 * 2**20  # bytes of scores in a block: large enough for fast matrix products, small for any laptop


class ScoresEntities(Protocol):
    """Anything that scores every entity as the answer of a query. It is handed queries, never their gold."""

    def score_all(self, queries: Queries) -> Tensor:
        """The score of every entity, (query, entity); higher is better, all finite."""


def query_blocks(scorer: ScoresEntities, queries: Queries, block: int | None) -> Iterator[slice]:
    """The queries in blocks of this size; by default of as many as `MEMORY` holds the scores of."""
    if block is None and len(queries):
        # The contract does not say how many entities there are: one scored query does.
        block = rows_within(4 * scorer.score_all(queries[:1]).shape[1], budget=MEMORY)
    return blocks(len(queries), block or 1)


@torch.inference_mode()
def checked_scores(scorer: ScoresEntities, queries: Queries) -> Floats:
    """The score of every entity as the answer of these queries, (query, entity), checked."""
    scores = scorer.score_all(queries)
    if scores.ndim != 2 or len(scores) != len(queries):
        raise ScoreError(
            f"{type(scorer).__name__}.score_all returned the shape {tuple(scores.shape)} "
            f"for {len(queries)} queries; expected (query, entity)."
        )
    return finite(scores, lambda row: f"⟨entity {queries.entity[row]}, relation {queries.relation[row]}, ?⟩")


def finite(scores: Tensor, name: Callable[[int], str]) -> Floats:
    """The scores as an array, once every one of them is known to be finite; `name` says what a row is."""
    scores = scores.detach().cpu()
    scores = scores.float() if scores.dtype in (torch.bfloat16, torch.float16) else scores
    # Minimum and maximum show any NaN or infinity, without an array of flags.
    bad = ~torch.isfinite(scores.amin(1)) | ~torch.isfinite(scores.amax(1))
    if bad.any():
        row = int(bad.int().argmax())
        value = scores[row][~torch.isfinite(scores[row])][0].item()
        raise ScoreError(
            f"A score of {name(row)} is {value}; {int(bad.sum())} of {len(bad)} queries of this block have "
            "scores that cannot be ranked. Look for a training that diverged (lower the learning rate), or for "
            "entities masked with infinity (do not mask: the filter is applied here)."
        )
    array: Floats = scores.numpy()
    return array


def refuse_outsiders(gold: Ints, n_entities: int) -> None:
    """Raise `ScoreError` when a gold is not among the scored entities."""
    if len(gold) and (gold.min() < 0 or gold.max() >= n_entities):
        raise ScoreError(
            f"There are scores of {n_entities} entities, but the golds go from {gold.min()} to {gold.max()}. "
            "Was the model made for another knowledge base?"
        )
