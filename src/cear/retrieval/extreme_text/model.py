"""ExtremeText (Wydmuch et al. 2018): a probabilistic label tree over all entities, asked with words."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor

from cear.core.progress import Progress, silent
from cear.core.tensors import read_tensors
from cear.core.types import NO_ENTITY, Bools, Candidates, Floats, Ints, Queries, Ragged, Side
from cear.data import KnownAnswers
from cear.retrieval.extreme_text.origin import Origin, refuse_others
from cear.retrieval.extreme_text.side import SideModel

_BLOCK = 1024  # queries between two steps of a progress bar


def side_file(folder: Path, side: Side) -> Path:
    """Where the model of a side is kept."""
    return folder / f"{side}.safetensors"


def _load_side(path: Path, origin: Origin) -> SideModel:
    tensors, metadata = read_tensors(path)
    refuse_others(path, metadata, origin)
    return SideModel.from_tensors(tensors)


class ExtremeText:
    """Ranks all entities by log P(answer | words of the query); heads and tails have a model each."""

    def __init__(self, *, tail: SideModel, head: SideModel) -> None:
        self.n_entities = tail.tree.n_labels
        self.n_relations = len(tail.texts.frequent)
        self._sides = (tail, head)

    @classmethod
    def load(cls, folder: Path, origin: Origin | None = None) -> Self:
        """The retriever that was trained into a folder, refused where it is not of this origin.

        Its files are mapped into memory, not read.
        """
        tail, head = (_load_side(side_file(folder, side), origin or {}) for side in ("tail", "head"))
        return cls(tail=tail, head=head)

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The log-probability of every entity, or of those in `among`, as the answer: (query, entity)."""
        scores = torch.empty(len(queries), self.n_entities if among is None else len(among))
        for model, which in self._by_side(queries):
            relation = queries.relation[which] % self.n_relations
            found = model.score_all(queries.entity[which], relation)
            scores[torch.from_numpy(which)] = found if among is None else found[:, among]
        return scores

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        """The log-probability of the entities in each query's row, (query, candidate), along their paths alone."""
        scores = np.empty(entities.shape, np.float32)
        for model, which in self._by_side(queries):
            relation = queries.relation[which] % self.n_relations
            scores[which] = model.score_labels(queries.entity[which], relation, entities[which])
        return torch.from_numpy(scores)

    def top_k(
        self, queries: Queries, k: int, *, drop: KnownAnswers | None = None, progress: Progress = silent
    ) -> Candidates:
        """The k best entities of each query, exactly, by a search that opens few nodes of the tree.

        `drop` leaves out what is already known, so that no slot is spent on it.
        """
        entities = np.full((len(queries), k), NO_ENTITY)
        scores = np.full((len(queries), k), -np.inf, np.float32)
        with progress("Searching", len(queries)) as bar:
            for start in range(0, len(queries), _BLOCK):
                block = slice(start, start + _BLOCK)
                self._fill(queries[block], k, drop, entities[block], scores[block])
                bar.advance(len(queries[block]))
        return Candidates(entities, scores)

    def _fill(self, queries: Queries, k: int, drop: KnownAnswers | None, entities: Ints, scores: Floats) -> None:
        for model, which in self._by_side(queries):
            asked = queries[which]
            known = _NOTHING.take(np.zeros(len(asked), np.int64)) if drop is None else drop.of_queries(asked)
            found = model.top_k(asked.entity, asked.relation % self.n_relations, k, known)
            entities[which], scores[which] = found.entities, found.scores

    def _by_side(self, queries: Queries) -> list[tuple[SideModel, Bools]]:
        """The model of each side, and which queries are for it."""
        asks_head = queries.relation >= self.n_relations
        return list(zip(self._sides, (~asks_head, asks_head), strict=True))


_NOTHING = Ragged(np.zeros(2, np.int64), np.zeros(0, np.int64))  # one row without values
