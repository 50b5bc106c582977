"""Stage 2 as a training task: lists with answers in, loss out; one phase after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from cear.candidates import Lists, labels
from cear.core.context import Context
from cear.core.devices import tensor
from cear.core.errors import DataError
from cear.core.types import NO_ENTITY, Bools, Floats, Ints
from cear.data import KnowledgeBase
from cear.reranking.losses import LIST_LOSSES, list_weights
from cear.reranking.reranker import Reranker, Trainable
from cear.training import PackedTask, State, fit

Validate = Callable[[Reranker], float]


@dataclass(frozen=True, eq=False)
class Examples:
    """Lists that hold an answer, what is known of their candidates, which of these are judged, and which right."""

    lists: Lists
    features: Floats  # (list, candidate, feature)
    positive: Bools  # (list, candidate)
    judged: Bools  # (list, candidate), False where padded or only read

    @classmethod
    def of(cls, lists: Lists, features: Floats, kb: KnowledgeBase, only_read: Bools | None = None) -> Examples:
        """The lists that hold a training answer: one without any has no order to learn.

        `only_read` are candidates whose answer is known to who reads them: neither right nor wrong, (list, candidate).
        """
        judged = lists.candidates.entities != NO_ENTITY
        judged = judged if only_read is None else judged & ~only_read
        positive = labels(lists, kb.known("train")) & judged
        useful = np.flatnonzero(positive.any(axis=1))
        if not len(useful):
            raise DataError(
                f"None of the {len(lists)} training lists holds an answer: there is nothing to learn. "
                "Set a larger candidates.k, or train Stage 1 longer."
            )
        return cls(lists[useful], features[useful], positive[useful], judged[useful])

    def __len__(self) -> int:
        return len(self.lists)

    def __getitem__(self, which: Ints) -> Examples:
        return Examples(self.lists[which], self.features[which], self.positive[which], self.judged[which])


class Stage2Task(PackedTask):
    """The loss of each batch of lists, for the loop in `cear.training`."""

    def __init__(self, reranker: Trainable, examples: Examples, validate: Validate, context: Context) -> None:
        self._reranker, self._examples, self._validate = reranker, examples, validate
        config = reranker.config
        super().__init__(
            reranker.model,
            reranker.parameter_groups(),
            reranker.lengths(examples.lists),
            max_tokens=config.max_tokens,
            epochs=config.epochs,
            weight_decay=config.weight_decay,
            context=context,
            per_epoch=config.lists_per_epoch,
            weights=list_weights(config.loss, examples.judged),
        )

    def validate(self) -> float:
        """Filtered MRR of the re-ranked lists of some validation facts."""
        self.model.eval()
        self._reranker.refresh_cache(progress=self._context.progress)
        return self._validate(self._reranker)

    def loss_of(self, rows: Ints) -> Tensor:
        """The loss of these lists, a mean over them."""
        examples = self._examples[rows]
        scores = self._reranker.score(examples.lists, examples.features).float()
        positive, judged = (tensor(each, scores.device) for each in (examples.positive, examples.judged))
        return LIST_LOSSES[self._reranker.config.loss](scores, positive, judged)


@dataclass(frozen=True, eq=False)
class Trained:
    """The best re-ranker of all phases, and how each phase went."""

    reranker: Trainable
    phases: dict[str, State]

    @classmethod
    def as_it_is(cls, reranker: Trainable, validate: Validate) -> Trained:
        """One that learns nothing, judged on validation."""
        return cls(reranker, {"as it is": State(best=validate(reranker), done=True)})

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
    examples, states = Examples.of(lists, features, kb, reranker.config.only_read(features)), {}
    best = reranker
    for phase in reranker.phases():
        opened = phase.open(best)
        task = Stage2Task(opened, examples, validate, context)
        schedule, place = opened.config.schedule, folder / phase.name
        states[phase.name] = fit(task, schedule, place, key=[*key, phase.name], context=context.called(phase.name))
        opened.model.eval()
        if max(states, key=lambda name: states[name].best) == phase.name:
            best = opened
    return Trained(best, states)
