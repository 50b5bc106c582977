"""Stage 2 as a training task: lists with answers in, loss out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from cear.candidates import Lists, labels
from cear.core.errors import DataError
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, Floats, Ints
from cear.data import KnowledgeBase, KnownAnswers
from cear.reranking.losses import LIST_LOSSES
from cear.reranking.reranker import Reranker, Trainable
from cear.texts import shuffled_batches
from cear.training import NO_DEADLINE, Deadline, Schedule, State, fit, seeded

Validate = Callable[[Reranker], float]


class Stage2Task:
    """The loss of each batch of lists, for the loop in `cear.training`.

    Every random choice, dropout included, is a function of (seed, epoch, step).
    """

    def __init__(
        self,
        reranker: Trainable,
        lists: Lists,
        inputs: Floats,
        answers: KnownAnswers,
        validate: Validate,
        *,
        seed: int,
        progress: Progress = silent,
    ) -> None:
        positive = labels(lists, answers)
        useful = np.flatnonzero(positive.any(axis=1))  # a list without an answer has no order to learn
        if not len(useful):
            raise DataError(
                f"None of the {len(lists)} training lists holds an answer: there is nothing to learn. "
                "Set a larger candidates.k, or train Stage 1 longer."
            )
        self.model = reranker.model
        self._reranker, self._lists, self._positive = reranker, lists[useful], positive[useful]
        self._inputs = inputs[useful]
        self._lengths = reranker.lengths(self._lists)
        self._validate, self._seed, self._progress = validate, seed, progress
        self._batches = lru_cache(maxsize=2)(self._deal)
        groups = reranker.parameter_groups()
        self._rates = [group["lr"] for group in groups]
        self.optimizer = torch.optim.AdamW(groups, fused=True)

    def __len__(self) -> int:
        """Batches in an epoch; each epoch deals anew, so later ones may differ by a few."""
        return len(self._batches(0))

    def losses(self, epoch: int, *, first: int) -> Iterator[Tensor]:
        """The loss of each batch of an epoch."""
        self.model.train()
        batches = self._batches(epoch)
        for step in range(first, len(batches)):
            self._set_rates((epoch + step / len(batches)) / self._reranker.config.epochs)
            with seeded(self._seed, epoch, step):  # what dropout draws
                loss = self._loss(batches[step])
            yield loss

    def validate(self) -> float:
        """Filtered MRR of the re-ranked lists of some validation facts."""
        self._reranker.settle(progress=self._progress)
        return self._validate(self._reranker)

    def _loss(self, rows: Ints) -> Tensor:
        lists = self._lists[rows]
        scores = self._reranker.score(lists, self._inputs[rows])
        real = torch.from_numpy(lists.candidates.entities != NO_ENTITY)
        return LIST_LOSSES[self._reranker.config.loss](scores, torch.from_numpy(self._positive[rows]), real)

    def _set_rates(self, done: float) -> None:
        """Every learning rate falls linearly to zero over the training."""
        for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * (1 - done)

    def _deal(self, epoch: int) -> list[Ints]:
        """The batches of an epoch, over a sample of the lists when the configuration limits them."""
        rng = np.random.default_rng([self._seed, epoch])
        count = min(self._reranker.config.lists or len(self._lists), len(self._lists))
        chosen = np.sort(rng.choice(len(self._lists), count, replace=False))
        return [
            chosen[batch] for batch in shuffled_batches(self._lengths[chosen], self._reranker.config.max_tokens, rng)
        ]


def train_stage2(
    reranker: Trainable,
    lists: Lists,
    kb: KnowledgeBase,
    folder: Path,
    *,
    inputs: Floats | None = None,
    validate: Validate,
    seed: int = 0,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = silent,
) -> State:
    """Train a re-ranker to its best on validation, and say how it went; resumes what `folder` holds.

    `inputs` are what `Trainable.inputs` says of the lists; cross-fitted ones by the retrievers of each fold.
    """
    inputs = reranker.inputs(lists) if inputs is None else inputs
    reranker.prepare(inputs)
    task = Stage2Task(reranker, lists, inputs, kb.known("train"), validate, seed=seed, progress=progress)
    config = reranker.config
    schedule = Schedule(config.epochs, 1, config.patience, config.checkpoint_seconds)
    described = f"{config.model_dump_json(exclude_defaults=True)} {seed} {kb.digest} {lists.manifest} {len(lists)}"
    fingerprint = hashlib.sha256(described.encode()).hexdigest()
    return fit(task, schedule, folder, fingerprint=fingerprint, deadline=deadline, progress=progress)
