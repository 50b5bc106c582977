"""The final score: both stages' log-probabilities, mixed by a weight chosen on validation.

A re-ranker helps most where a query has few known answers, so the weight is chosen for each range of their number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cear.candidates import Lists
from cear.core.types import Bools, Candidates, Floats, Ints
from cear.data import KnowledgeBase
from cear.reranking.features import log_probabilities

EDGES = (1, 2, 4, 11, 51)  # known training answers of a query: 0, 1, 2-3, 4-10, 11-50, more
WEIGHTS = tuple(round(0.05 * step, 2) for step in range(21))
_ENOUGH = 50  # queries; a range with fewer takes the weight that is best for all

Reward = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Fusion:
    """How much Stage 2 counts, by the number of known training answers of a query; 1 is Stage 2 alone."""

    weights: tuple[float, ...]

    def fuse(self, lists: Lists, scores: Floats, kb: KnowledgeBase) -> Floats:
        """The final score of each candidate, (query, candidate)."""
        weight = np.array(self.weights)[bins(lists, kb)]
        return mix(lists, scores, weight)

    def as_json(self) -> dict[str, list[float]]:
        """The weights as a value of JSON."""
        return {"weights": list(self.weights)}


STAGE2_ALONE = Fusion((1.0,) * (len(EDGES) + 1))


def choose_fusion(lists: Lists, scores: Floats, kb: KnowledgeBase, reward: Reward) -> Fusion:
    """The weights that are best on these lists; `reward` judges final scores, one value per query."""
    values = np.stack([reward(mix(lists, scores, np.full(len(lists), weight))) for weight in WEIGHTS])
    overall = _best(values, np.ones(len(lists), bool))
    which = bins(lists, kb)
    chosen = [
        _best(values, which == each) if (which == each).sum() >= _ENOUGH else overall for each in range(len(EDGES) + 1)
    ]
    return Fusion(tuple(WEIGHTS[place] for place in chosen))


def bins(lists: Lists, kb: KnowledgeBase) -> Ints:
    """The range of each query's number of known training answers, (query,)."""
    return np.digitize(kb.known("train").of_queries(lists.queries).counts, EDGES)


def mix(lists: Lists, scores: Floats, weight: Floats) -> Floats:
    """The mixture w log P₂ + (1 - w) log P₁, each P a softmax over the list; -inf where the list is padded."""
    of_stage1 = log_probabilities(lists.candidates)
    of_stage2 = log_probabilities(Candidates(lists.candidates.entities, scores))
    padded = np.isneginf(of_stage1)
    w = weight[:, None]
    mixed = w * np.where(padded, 0.0, of_stage2) + (1 - w) * np.where(padded, 0.0, of_stage1)
    return np.where(padded, -np.inf, mixed)


def _best(values: Floats, which: Bools) -> int:
    """The weight with the best mean; of equal ones the smallest, which trusts Stage 1 more."""
    return int(np.argmax(values[:, which].mean(axis=1)))
