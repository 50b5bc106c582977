"""Who competes with the answers of a batch: random entities, the subjects themselves, and texts that read alike."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from cear.data import KnownAnswers
from cear.nouns import Ints, Queries, Ragged
from cear.progress import Progress, silent
from cear.retrieval.batches import TrainingQueries

_NEIGHBOURS = 16  # of an entity, from which hard negatives are drawn
_BLOCK = 1024


class TextQueries(TrainingQueries):
    """Training queries whose subjects compete with their answers, as do some entities that read like the answers.

    A text is nearest to itself, so without its subject as a negative a query would answer itself (Wang et al. 2022).
    `near` are the neighbours of each entity, (entity, neighbour); `hard` of them are drawn for each answer.
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


@torch.inference_mode()
def nearest(vectors: Tensor, count: int = _NEIGHBOURS, *, progress: Progress = silent) -> Ints:
    """The entities with the greatest dot product with each, itself left out, (entity, neighbour)."""
    count = min(count, len(vectors) - 1)
    found = []
    with progress("Looking for texts that read alike", len(vectors)) as bar:
        for start in range(0, len(vectors), _BLOCK):
            block = vectors[start : start + _BLOCK]
            likeness = block @ vectors.T
            rows = torch.arange(len(block))
            likeness[rows, start + rows] = -torch.inf
            found.append(likeness.topk(count, dim=-1).indices)
            bar.advance(len(block))
    return torch.cat(found).numpy()
