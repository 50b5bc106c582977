"""The text retriever as a training task of Stage 1: InfoNCE over vectors of texts, kept or read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import numpy as np
import torch
from torch import Tensor, nn

from cear.core.context import Context
from cear.core.types import Ints
from cear.data import KnowledgeBase
from cear.retrieval.batches import Batch
from cear.retrieval.losses import InfoNceLoss
from cear.retrieval.text.batches import TextQueries
from cear.retrieval.text.config import TextSettings
from cear.retrieval.text.scorer import TextScorer
from cear.retrieval.training import QueryTask, Validate
from cear.texts import TunedVectors
from cear.training import Part, fused_on


class TextTask(QueryTask):
    """The InfoNCE of each batch of training queries, with the competitors of `TextQueries`.

    An encoder that learns reads the subjects of a batch; everybody else competes as remembered.
    """

    model: TextScorer

    def __init__(
        self,
        scorer: TextScorer,
        kb: KnowledgeBase,
        config: TextSettings,
        validate: Validate,
        context: Context,
        *,
        near: Ints,
        batch: int,
        epochs: int,
    ) -> None:
        """`near` are the entities whose texts read like each entity's, (entity, neighbour)."""
        self._kb, self._config, self._near, self._batch = kb, config, near, batch
        self._loss = InfoNceLoss()
        self._tuned = scorer.texts if isinstance(scorer.texts, TunedVectors) else None
        self._reads = False
        super().__init__(scorer, validate, context, epochs=epochs, decays=True)

    def build_optimizer(self) -> torch.optim.Optimizer:
        """Adam with a step size for the encoder, where it learns, one for words, and one for everything else."""
        config = self._config
        rates = {"words.piece.": config.word_learning_rate, "": config.learning_rate}
        if config.tune is not None:
            rates = {"texts.": config.tune.learning_rate} | rates
        groups: dict[str, list[nn.Parameter]] = {prefix: [] for prefix in rates}
        for name, weight in self.model.named_parameters():
            if weight.requires_grad:
                groups[next(prefix for prefix in rates if name.startswith(prefix))].append(weight)
        learning = [{"params": weights, "lr": rates[prefix]} for prefix, weights in groups.items() if weights]
        return torch.optim.Adam(learning, fused=fused_on(self.model))

    def training_queries(self) -> TextQueries:
        """The distinct queries of the training facts, in batches from a few places of the graph."""
        kb, config = self._kb, self._config
        return TextQueries(
            kb.known("train"),
            kb.n_entities,
            self._near,
            size=self._batch,
            negatives=config.negatives,
            hard=config.hard,
            seed=self._context.seed,
        )

    def steps(self, epoch: int, *, first: int, parts: int) -> Iterator[Sequence[Part]]:
        """The loss of each step; texts are read after the first epochs."""
        self._reads = self._config.tune is not None and epoch >= self._config.tune.warm_up
        yield from super().steps(epoch, first=first, parts=parts)

    def validate(self) -> float:
        """Filtered MRR on the validation split, by what the encoder says of every text now."""
        if self._reads and self._tuned is not None:
            self._tuned.refresh_cache(progress=self._context.progress)
        return super().validate()

    def loss(self, part: Batch, whole: Batch) -> Tensor:
        """A part's share of the InfoNCE of a batch; its subjects are read where the encoder learns."""
        reader = self._tuned if self._reads else None
        with nullcontext() if reader is None else reader.reading(torch.from_numpy(np.unique(part.queries.entity))):
            scores = self.model.score_all(part.queries, part.among).float()
            return part.weight / whole.weight * self._loss(scores, part)
