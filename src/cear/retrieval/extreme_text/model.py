"""ExtremeText (Wydmuch et al. 2018): a probabilistic label tree over all entities, asked with words."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor

from cear.core.devices import runs_kernels, tensor
from cear.core.progress import Progress, silent
from cear.core.reading import reading
from cear.core.tensors import read_tensors
from cear.core.types import NO_ENTITY, Bools, Candidates, Floats, Ints, Queries, Ragged, Side
from cear.data import KnownAnswers
from cear.retrieval.extreme_text.origin import Origin, refuse_others
from cear.retrieval.extreme_text.parts import SideInParts
from cear.retrieval.extreme_text.plain import SideOnDevice
from cear.retrieval.extreme_text.side import SideModel

_BLOCK = 1024  # queries between two steps of a progress bar

AnySide = SideModel | SideOnDevice | SideInParts


def side_file(folder: Path, side: Side) -> Path:
    """Where the model of a side is kept."""
    return folder / f"{side}.safetensors"


def _load_side(path: Path, origin: Origin) -> SideModel:
    tensors, metadata = read_tensors(path)
    refuse_others(path, metadata, origin)
    with reading(path):
        return SideModel.from_tensors(tensors)


def _on(side: SideModel | SideInParts, device: torch.device) -> AnySide:
    """The model of a side as this device computes it; parts compute where they are."""
    return side if isinstance(side, SideInParts) or runs_kernels(device) else SideOnDevice(side, device)


class ExtremeText:
    """Ranks all entities by log P(answer | words of the query); heads and tails have a model each."""

    def __init__(
        self, *, tail: SideModel | SideInParts, head: SideModel | SideInParts, device: torch.device | str = "cpu"
    ) -> None:
        self.device = torch.device(device)
        self.n_entities = tail.tree.n_labels
        self.n_relations = len(tail.texts.frequent)
        self._sides = tuple(_on(side, self.device) for side in (tail, head))

    @classmethod
    def load(cls, folder: Path, origin: Origin | None = None, *, device: torch.device | str = "cpu") -> Self:
        """The retriever that was trained into a folder, refused where it is not of this origin.

        On the CPU its files are mapped into memory, not read; any other device gets a copy.
        """
        tail, head = (_load_side(side_file(folder, side), origin or {}) for side in ("tail", "head"))
        return cls(tail=tail, head=head, device=device)

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The log-probability of every entity, or of those in `among`, as the answer: (query, entity)."""
        columns = slice(None) if among is None else tensor(among, self.device)
        scores = torch.empty(len(queries), self.n_entities if among is None else len(among), device=self.device)
        for model, which in self._by_side(queries):
            relation = queries.relation[which] % self.n_relations
            found = model.score_all(queries.entity[which], relation)
            scores[tensor(which, self.device)] = found[:, columns]
        return scores

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        """The log-probability of the entities in each query's row, (query, candidate); on the CPU along their paths."""
        scores = torch.empty(entities.shape, device=self.device)
        for model, which in self._by_side(queries):
            relation = queries.relation[which] % self.n_relations
            found = model.score_labels(queries.entity[which], relation, entities[which])
            scores[tensor(which, self.device)] = found
        return scores

    def top_k(
        self, queries: Queries, k: int, *, drop: KnownAnswers | None = None, progress: Progress = silent
    ) -> Candidates:
        """The k best entities of each query, exactly: on the CPU by a search that opens few nodes of the tree.

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

    def _by_side(self, queries: Queries) -> list[tuple[AnySide, Bools]]:
        """The model of each side, and which queries are for it."""
        asks_head = queries.relation >= self.n_relations
        return list(zip(self._sides, (~asks_head, asks_head), strict=True))


_NOTHING = Ragged(np.zeros(2, np.int64), np.zeros(0, np.int64))  # one row without values
