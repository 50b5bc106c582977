"""Stage 2 as a training task: lists with answers in, loss out; one phase after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cear.candidates import Lists, labels
from cear.core.context import Context
from cear.core.devices import computing, device_of, tensor
from cear.core.errors import DataError
from cear.core.types import NO_ENTITY, Bools, Floats, Ints
from cear.data import KnowledgeBase
from cear.reranking.losses import LIST_LOSSES, list_weights
from cear.reranking.reranker import Reranker, Trainable
from cear.texts import shuffled_batches
from cear.training import Part, State, fit, fused_on, seeded, set_rates

Validate = Callable[[Reranker], float]


@dataclass(frozen=True, eq=False)
class Examples:
    """Lists that hold an answer, what is known of their candidates, and which of these are answers."""

    lists: Lists
    features: Floats  # (list, candidate, feature)
    positive: Bools  # (list, candidate)

    @classmethod
    def of(cls, lists: Lists, features: Floats, kb: KnowledgeBase) -> Examples:
        """The lists that hold a training answer: one without any has no order to learn."""
        positive = labels(lists, kb.known("train"))
        useful = np.flatnonzero(positive.any(axis=1))
        if not len(useful):
            raise DataError(
                f"None of the {len(lists)} training lists holds an answer: there is nothing to learn. "
                "Set a larger candidates.k, or train Stage 1 longer."
            )
        return cls(lists[useful], features[useful], positive[useful])

    def __len__(self) -> int:
        return len(self.lists)

    def __getitem__(self, which: Ints) -> Examples:
        return Examples(self.lists[which], self.features[which], self.positive[which])


class Stage2Task:
    """The loss of each batch of lists, for the loop in `cear.training`.

    Every random choice, dropout included, is a function of (seed, epoch, step).
    """

    def __init__(self, reranker: Trainable, examples: Examples, validate: Validate, context: Context) -> None:
        self.model = reranker.model
        self._reranker, self._examples = reranker, examples
        self._validate, self._context = validate, context
        self._lengths = reranker.lengths(examples.lists)
        self._weights = list_weights(reranker.config.loss, examples.lists.candidates.entities != NO_ENTITY)
        self._batches = lru_cache(maxsize=2)(self._shuffled)
        groups = reranker.parameter_groups()
        self._rates = [group["lr"] for group in groups]
        decay = reranker.config.weight_decay
        self.optimizer = torch.optim.AdamW(groups, weight_decay=decay, fused=fused_on(self.model))

    def __len__(self) -> int:
        """Batches in an epoch; each epoch shuffles anew, so later ones may differ by a few."""
        return len(self._batches(0))

    def steps(self, epoch: int, *, first: int, parts: int) -> Iterator[Sequence[Part]]:
        """The loss of each batch of an epoch, as the shares of its parts; learning rates fall linearly to zero."""
        self.model.train()
        batches = self._batches(epoch)
        for step in range(first, len(batches)):
            set_rates(self.optimizer, self._rates, 1 - (epoch + step / len(batches)) / self._reranker.config.epochs)
            whole, total = batches[step], self._weights[batches[step]].sum()
            shares = [
                (rows, self._weights[rows].sum() / total) for rows in np.array_split(whole, min(parts, len(whole)))
            ]
            yield [partial(self._share, rows, float(share), epoch, step) for rows, share in shares]

    def validate(self) -> float:
        """Filtered MRR of the re-ranked lists of some validation facts."""
        self.model.eval()
        self._reranker.refresh_cache(progress=self._context.progress)
        return self._validate(self._reranker)

    def _share(self, rows: Ints, share: float, epoch: int, step: int) -> Tensor:
        """What some lists of a batch add to its loss."""
        device = device_of(self.model)
        with seeded(self._context.seed, epoch, step), computing(device, self._context.precision):
            return share * self.loss(self._examples[rows])

    def loss(self, examples: Examples) -> Tensor:
        """The loss of a batch of lists, a mean over them."""
        scores = self._reranker.score(examples.lists, examples.features).float()
        real = tensor(examples.lists.candidates.entities != NO_ENTITY, scores.device)
        return LIST_LOSSES[self._reranker.config.loss](scores, tensor(examples.positive, scores.device), real)

    def _shuffled(self, epoch: int) -> list[Ints]:
        """The batches of an epoch, over a sample of the lists when the configuration limits them."""
        config, total = self._reranker.config, len(self._examples)
        rng = np.random.default_rng([self._context.seed, epoch])
        chosen = np.sort(rng.choice(total, min(config.lists_per_epoch or total, total), replace=False))
        return [chosen[batch] for batch in shuffled_batches(self._lengths[chosen], config.max_tokens, rng)]


@dataclass(frozen=True, eq=False)
class Trained:
    """The best re-ranker of all phases, and how each phase went."""

    reranker: Trainable
    phases: dict[str, State]

    @property
    def best(self) -> str:
        """The name of the phase that it is of."""
        return max(self.phases, key=lambda name: self.phases[name].best)


def train_phases(
    reranker: Trainable,
    lists: Lists,
    features: Floats,
    kb: KnowledgeBase,
    folder: Path,
    *,
    validate: Validate,
    key: Sequence[Any] = (),
    context: Context,
) -> Trained:
    """Train a re-ranker phase by phase, each from the best so far and kept only if it is better on validation.

    `features` are those of the lists, computed by who has not seen their answers. `folder` keeps a folder for each
    phase; an interrupted training of the same key (settings, lists, data) continues there.
    """
    reranker.fit_normalizer(features)
    examples, states = Examples.of(lists, features, kb), {}
    best = reranker
    for phase in reranker.phases():
        opened = phase.open(best)
        task = Stage2Task(opened, examples, validate, context)
        schedule, place = opened.config.schedule, folder / phase.name
        states[phase.name] = fit(task, schedule, place, key=[*key, phase.name], context=context)
        opened.model.eval()
        if max(states, key=lambda name: states[name].best) == phase.name:
            best = opened
    return Trained(best, states)
