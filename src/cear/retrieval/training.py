"""Stage 1 as a training task: queries in, loss and regulariser out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from cear.core.progress import Progress, silent
from cear.data import KnowledgeBase
from cear.retrieval.batches import Batch, TrainingQueries, subsampling_weights
from cear.retrieval.config import Stage1Config
from cear.retrieval.losses import LOSSES
from cear.retrieval.models import scorer_for
from cear.retrieval.optimizers import build_optimizer
from cear.retrieval.scorer import Scorer
from cear.training import NO_DEADLINE, Deadline, Schedule, State, fit, seeded

Validate = Callable[[Scorer], float]


class Stage1Task:
    """The loss of each batch of training queries, for the loop in `cear.training`."""

    def __init__(
        self, scorer: Scorer, kb: KnowledgeBase, config: Stage1Config, validate: Validate, *, seed: int
    ) -> None:
        self.model = scorer
        self.optimizer = self.build_optimizer(scorer, config)
        self._rates = [group["lr"] for group in self.optimizer.param_groups]
        self._config = config
        self._validate, self._seed = validate, seed
        known = kb.known("train")
        weights = subsampling_weights(known, kb.n_relations) if config.loss.subsampling else None
        self._queries = TrainingQueries(
            known, kb.n_entities, size=config.batch, negatives=config.loss.negatives, seed=seed, weights=weights
        )

    def __len__(self) -> int:
        return len(self._queries)

    def losses(self, epoch: int, *, first: int) -> Iterator[Tensor]:
        """Loss + regulariser + relation prediction of each step."""
        self.model.train()
        for step, batch in enumerate(self._queries.epoch(epoch, first=first), start=first):
            self._set_rate(epoch + step / len(self))
            with seeded(self._seed, epoch, step):  # what dropout draws
                loss = self._loss(batch)
            yield loss

    def build_optimizer(self, scorer: Scorer, config: Stage1Config) -> torch.optim.Optimizer:
        """The optimiser, its groups at the step sizes they start with."""
        return build_optimizer(scorer, config.optimizer)

    def validate(self) -> float:
        """Filtered MRR on the validation split."""
        self.model.eval()
        return self._validate(self.model)

    def _set_rate(self, epochs_done: float) -> None:
        """The step size as a function of the place in the training alone, so that a resumed one has the same."""
        left = 1 - epochs_done / self._config.epochs if self._config.optimizer.decay == "linear" else 1.0
        for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * left

    def _loss(self, batch: Batch) -> Tensor:
        config = self._config
        among = None if batch.among is None else torch.from_numpy(batch.among)
        loss = LOSSES[config.loss.kind](self.model.score_all(batch.queries, among), batch, config.loss)
        if config.regularizer.weight:
            loss = loss + config.regularizer.weight * lp_norm(self.model, batch, config.regularizer.p)
        if config.relation_prediction:
            loss = loss + config.relation_prediction * relation_loss(self.model, batch.facts)
        return loss


def lp_norm(scorer: Scorer, batch: Batch, p: float) -> Tensor:
    """Mean over facts of Σ |s|ᵖ + |r|ᵖ + |o|ᵖ; p = 3 is the nuclear 3-norm (Lacroix et al. 2018, Eq. 5).

    Each embedding is looked up once and counted as often as the facts use it.
    """
    entities, entity_counts = _counted(batch.facts[:, [0, 2]])
    relations, relation_counts = _counted(batch.facts[:, 1])
    of_entities = scorer.entity_moduli(entities).pow(p).sum(-1) @ entity_counts
    of_relations = scorer.relation_moduli(relations).pow(p).sum(-1) @ relation_counts
    return (of_entities + of_relations) / len(batch.facts)


def _counted(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Each id once, and how often it stands there."""
    distinct, counts = np.unique(ids.numpy(), return_counts=True)
    return torch.from_numpy(distinct), torch.from_numpy(counts).float()


def relation_loss(scorer: Scorer, facts: Tensor) -> Tensor:
    """Mean over facts of -log P(r | s, o) (Chen et al. 2021, Eq. 3)."""
    return nn.functional.cross_entropy(scorer.score_relations(facts), facts[:, 1])


def train_scorer(
    kb: KnowledgeBase,
    config: Stage1Config,
    folder: Path,
    *,
    validate: Validate,
    seed: int = 0,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = silent,
) -> tuple[Scorer, State]:
    """The scorer that was best on validation, and how training went; resumes what `folder` holds."""
    scorer = scorer_for(kb, config, seed=seed)
    task = Stage1Task(scorer, kb, config, validate, seed=seed)
    return scorer, fit_stage1(task, kb, config, folder, seed=seed, deadline=deadline, progress=progress)


def fit_stage1(
    task: Stage1Task,
    kb: KnowledgeBase,
    config: Stage1Config,
    folder: Path,
    *,
    seed: int,
    deadline: Deadline,
    progress: Progress,
) -> State:
    """Train a task as long as the configuration says, leave its best weights in the model, and say how it went."""
    schedule = Schedule(config.epochs, config.validate_every, config.patience, config.checkpoint_seconds)
    fingerprint = hashlib.sha256(f"{config.that_counts()} {seed} {kb.digest}".encode()).hexdigest()
    return fit(task, schedule, folder, fingerprint=fingerprint, deadline=deadline, progress=progress)
