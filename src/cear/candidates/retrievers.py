"""Stage 1 and the retrievers beside it: lists that hold the best of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, Candidates, Floats, Ints, Queries
from cear.data import KnowledgeBase, KnownAnswers
from cear.retrieval import Retriever, Stage1Config, load_stage1, top_k, train_stage1
from cear.training import NO_DEADLINE, Deadline, State

ALSO = "also"
_BLOCK = 256  # queries whose scores of all entities are in memory at a time

ValidateOn = Callable[[KnowledgeBase], Callable[[Retriever], float]]


@dataclass(frozen=True, eq=False)
class Retrievers:
    """Stage 1 and, by name, the retrievers beside it; all have learned from the training facts of `kb` alone."""

    kb: KnowledgeBase
    first: Retriever
    also: Mapping[str, Retriever]

    def top_k(
        self, queries: Queries, k: int, *, drop: KnownAnswers | None = None, progress: Progress = silent
    ) -> Candidates:
        """The k entities of each query that stand highest in any retriever, in the order of Stage 1's scores."""
        found = top_k(self.first, queries, k, drop=drop, progress=progress)
        if not self.also:
            return found
        others = [top_k(each, queries, k, drop=drop, progress=progress).entities for each in self.also.values()]
        entities = _interleaved([found.entities, *others], k)
        return _in_order(entities, scores_of(self.first, queries, entities))


def scores_of(retriever: Retriever, queries: Queries, entities: Ints) -> Floats:
    """The scores of given candidates of each query, (query, candidate); -inf where padded."""
    scores = np.empty(entities.shape, np.float32)
    with torch.inference_mode():
        for start in range(0, len(queries), _BLOCK):
            block = slice(start, start + _BLOCK)
            every = retriever.score_all(queries[block]).numpy()
            scores[block] = np.take_along_axis(every, np.maximum(entities[block], 0), axis=1)
    return np.where(entities == NO_ENTITY, -np.inf, scores)


def train_retrievers(
    kb: KnowledgeBase,
    stage1: Stage1Config,
    also: Mapping[str, Stage1Config],
    folder: Path,
    *,
    validate_on: ValidateOn,
    seed: int = 0,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = silent,
) -> tuple[Retrievers, State]:
    """Stage 1 in `folder`, the others inside it, and how Stage 1's training went; continues what is there."""

    def train(config: Stage1Config, place: Path) -> tuple[Retriever, State]:
        look = validate_on(kb)
        return train_stage1(kb, config, place, validate=look, seed=seed, deadline=deadline, progress=progress)

    first, state = train(stage1, folder)
    return Retrievers(kb, first, {name: train(config, folder / ALSO / name)[0] for name, config in also.items()}), state


def load_retrievers(
    kb: KnowledgeBase, stage1: Stage1Config, also: Mapping[str, Stage1Config], folder: Path
) -> Retrievers:
    """The retrievers that `train_retrievers` left in a folder."""
    others = {name: load_stage1(kb, config, folder / ALSO / name) for name, config in also.items()}
    return Retrievers(kb, load_stage1(kb, stage1, folder), others)


def _interleaved(rankings: list[Ints], k: int) -> Ints:
    """The k entities with the best place in any ranking, earlier rankings first where places are equal."""
    woven = np.stack(rankings, axis=2).reshape(len(rankings[0]), -1)  # first places, second places, …
    order = np.argsort(woven, axis=1, kind="stable")
    ordered = np.take_along_axis(woven, order, axis=1)
    again = np.zeros_like(woven, bool)
    np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    taken = np.argsort(again | (woven == NO_ENTITY), axis=1, kind="stable")[:, :k]  # the new ones first, in their order
    kept = ~np.take_along_axis(again, taken, axis=1)
    return np.where(kept, np.take_along_axis(woven, taken, axis=1), NO_ENTITY)


def _in_order(entities: Ints, scores: Floats) -> Candidates:
    order = np.argsort(-scores, axis=1, kind="stable")
    return Candidates(np.take_along_axis(entities, order, axis=1), np.take_along_axis(scores, order, axis=1))
