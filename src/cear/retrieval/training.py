"""Stage 1 as a training task: queries in, loss and regulariser out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from cear.core.context import Context
from cear.core.devices import computing
from cear.data import KnowledgeBase
from cear.retrieval.batches import Batch, TrainingQueries, subsampling_weights
from cear.retrieval.objective import lp_norm, relation_loss
from cear.retrieval.optimizers import build_optimizer
from cear.retrieval.scorer import Scorer
from cear.training import Part, seeded, set_rates

if TYPE_CHECKING:
    from cear.retrieval.gradient import GradientConfig

Validate = Callable[[Any], float]


class QueryTask(ABC):
    """A training over batches of distinct queries, for the loop in `cear.training`."""

    def __init__(self, scorer: Scorer, validate: Validate, context: Context, *, epochs: int, decays: bool) -> None:
        """Learning rates fall linearly to zero over all epochs if `decays`."""
        self.model: Scorer = scorer
        self._validate, self._context = validate, context
        self._epochs, self._decays = epochs, decays
        self.optimizer = self.build_optimizer()
        self._rates = [group["lr"] for group in self.optimizer.param_groups]
        self._queries = self.training_queries()

    @abstractmethod
    def build_optimizer(self) -> torch.optim.Optimizer:
        """The optimiser, its groups at the step sizes they start with."""

    @abstractmethod
    def training_queries(self) -> TrainingQueries:
        """The batches of an epoch."""

    @abstractmethod
    def loss(self, part: Batch, whole: Batch) -> Tensor:
        """What a part of a batch adds to the loss of the whole, a mean over facts."""

    def __len__(self) -> int:
        return len(self._queries)

    def steps(self, epoch: int, *, first: int, parts: int) -> Iterator[Sequence[Part]]:
        """The loss of each step, as the shares of its parts."""
        self.model.train()
        for step, batch in enumerate(self._queries.epoch(epoch, first=first), start=first):
            left = 1 - (epoch + step / len(self)) / self._epochs
            set_rates(self.optimizer, self._rates, left if self._decays else 1.0)
            yield [partial(self._compute, part, batch, epoch, step) for part in batch.split(parts)]

    def validate(self) -> float:
        """Filtered MRR on the validation split."""
        self.model.eval()
        return self._validate(self.model)

    def _compute(self, part: Batch, whole: Batch, epoch: int, step: int) -> Tensor:
        with seeded(self._context.seed, epoch, step), computing(self.model.device, self._context.precision):
            return self.loss(part, whole)


class Stage1Task(QueryTask):
    """The loss of a scorer: loss + regulariser + relation prediction."""

    def __init__(
        self, scorer: Scorer, kb: KnowledgeBase, config: GradientConfig, validate: Validate, context: Context
    ) -> None:
        self._kb, self._config = kb, config
        decays = config.optimizer.decay == "linear"
        super().__init__(scorer, validate, context, epochs=config.epochs, decays=decays)

    def build_optimizer(self) -> torch.optim.Optimizer:
        """The optimiser of all weights."""
        return build_optimizer(self.model, self._config.optimizer)

    def training_queries(self) -> TrainingQueries:
        """The distinct queries of the training facts, with those who compete."""
        kb, loss = self._kb, self._config.loss
        known = kb.known("train")
        weights = subsampling_weights(known, kb.n_relations) if loss.weighs_facts else None
        size, seed = self._config.batch, self._context.seed
        return TrainingQueries(known, kb.n_entities, size=size, negatives=loss.negatives, seed=seed, weights=weights)

    def loss(self, part: Batch, whole: Batch) -> Tensor:
        """What a part adds: its weight's share of the loss, its facts' share of the rest, where each counts once."""
        config, facts = self._config, part.facts
        share = len(facts) / len(whole.answers.values)
        scores = self.model.score_all(part.queries, part.among).float()
        loss = part.weight / whole.weight * config.loss(scores, part)
        if config.regularizer.weight:
            loss = loss + share * config.regularizer.weight * lp_norm(self.model, facts, config.regularizer.p)
        if config.relations_weight:
            loss = loss + share * config.relations_weight * relation_loss(self.model, facts)
        return loss
