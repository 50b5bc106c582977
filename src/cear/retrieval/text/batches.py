"""What a step of the text retriever sees: who competes with the answers, and whose texts it reads together."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from cear.core.blocks import blocks
from cear.core.progress import Progress, silent
from cear.core.types import Ints, Queries, Ragged
from cear.data import KnownAnswers
from cear.retrieval.batches import TrainingQueries

_NEIGHBOURS = 16  # of an entity, from which hard negatives are drawn
_BLOCK = 1024
_PLACES = 8  # of the graph, whose queries share a batch


class TextQueries(TrainingQueries):
    """Training queries whose subjects compete with their answers, as do some entities that read like the answers.

    A text is nearest to itself, so a query's own subject is one of its negatives (Wang et al. 2022). `near` are the
    neighbours of each entity, (entity, neighbour); `hard` of them are drawn for each answer.

    Batches come from a few places of the graph: their queries share subjects and answer each other. So few texts have
    to be read for many queries, and those that compete are near each other, which teaches more (Ko et al. 2024).
    """

    def __init__(
        self, known: KnownAnswers, n_entities: int, near: Ints, *, size: int, negatives: int, hard: int, seed: int
    ) -> None:
        super().__init__(known, n_entities, size=size, negatives=negatives, seed=seed)
        self._near, self._hard = near, hard

    def competitors(self, queries: Queries, answers: Ragged, epoch: int, step: int) -> Ints | None:
        """The sample and the answers, with subjects and hard negatives; all queries of the batch share them."""
        among = super().competitors(queries, answers, epoch, step)
        if among is None:
            return None
        rng = np.random.default_rng([self._seed, epoch, step, 1])  # the sample drew from [seed, epoch, step]
        places = rng.integers(self._near.shape[1], size=(self._hard, len(answers.values)))
        hard = self._near[answers.values, places]  # (hard, answer)
        return np.unique(np.concatenate([among, queries.entity, hard.reshape(-1)]))

    def order(self, epoch: int) -> Ints:
        """The queries along a random walk through the graph, depth first, cut into pieces, the pieces shuffled."""
        rng = np.random.default_rng([self._seed, epoch])
        place = depth_first(self._queries.entity[self._answers.rows], self._answers.values, self._n_entities, rng)
        along = np.argsort(place[self._queries.entity], kind="stable")
        pieces = np.array_split(along, max(_PLACES * len(self), 1))
        return np.concatenate([pieces[i] for i in rng.permutation(len(pieces))])


def depth_first(one: Ints, other: Ints, n_entities: int, rng: np.random.Generator) -> Ints:
    """The place of each entity in a depth-first walk along links between entities, its turns taken at random."""
    from scipy.sparse import csr_array  # here, for who only asks does not walk
    from scipy.sparse.csgraph import depth_first_order

    name = rng.permutation(n_entities)  # the walk takes the first name first
    everyone, root = np.arange(n_entities), np.full(n_entities, n_entities)  # a root that leads into every part
    rows, columns = np.concatenate([name[one], name[other], root]), np.concatenate([name[other], name[one], everyone])
    graph = csr_array((np.ones(len(rows), bool), (rows, columns)), shape=(n_entities + 1, n_entities + 1))
    walk = depth_first_order(graph, n_entities, return_predecessors=False)[1:]
    place = np.empty(n_entities, np.int64)
    place[walk] = everyone
    return place[name]


@torch.inference_mode()
def nearest(vectors: Tensor, count: int = _NEIGHBOURS, *, progress: Progress = silent) -> Ints:
    """The entities with the greatest dot product with each, itself left out, (entity, neighbour)."""
    count = min(count, len(vectors) - 1)
    found = []
    with progress("Looking for texts that read alike", len(vectors)) as bar:
        for part in blocks(len(vectors), _BLOCK):
            likeness = vectors[part] @ vectors.T
            rows = torch.arange(len(likeness))
            likeness[rows, part.start + rows] = -torch.inf
            found.append(likeness.topk(count, dim=-1).indices)
            bar.advance(len(likeness))
    return torch.cat(found).numpy()
