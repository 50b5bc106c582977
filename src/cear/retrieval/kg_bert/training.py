"""A language model over facts as a training task."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import Tensor, nn

from cear.core.context import Context
from cear.core.devices import tensor
from cear.core.types import NO_ENTITY, Bools, Floats, Ints, Ranks
from cear.evaluation import MRR, measure
from cear.retrieval.kg_bert.config import ReadingSettings
from cear.retrieval.kg_bert.drawing import DrawnCandidates
from cear.retrieval.kg_bert.reader import FactReader
from cear.training import PackedTask

FactLoss = Callable[[Tensor, Tensor], Tensor]


class ReadingTask(PackedTask):
    """The loss of each batch of facts with labels."""

    def __init__(
        self,
        reader: FactReader,
        facts: Ints,
        labels: Ints | Bools,
        loss: FactLoss,
        validate: Callable[[FactReader], float],
        settings: ReadingSettings,
        context: Context,
    ) -> None:
        """`labels` is what each fact should be read as, (fact,); `loss` compares that with its logits."""
        self._reader, self._facts, self._labels = reader, facts, labels
        self._loss, self._validate = loss, validate
        super().__init__(
            reader.model,
            [{"params": [*reader.model.parameters()], "lr": settings.learning_rate}],
            reader.lengths(facts),
            max_tokens=settings.max_tokens,
            epochs=settings.epochs,
            weight_decay=settings.weight_decay,
            context=context,
            per_epoch=settings.facts_per_epoch,
        )

    def loss_of(self, rows: Ints) -> Tensor:
        """The loss of these facts, a mean over them."""
        logits = self._reader.logits(self._facts[rows]).float()
        return self._loss(logits, tensor(self._labels[rows], logits.device))

    def validate(self) -> float:
        """What chooses the best epoch."""
        self.model.eval()
        return self._validate(self._reader)


def truth_loss(logits: Tensor, true: Tensor) -> Tensor:
    """Binary cross-entropy of each fact, the mean over facts (Yao, Mao & Luo 2019, Eq. 2)."""
    return nn.functional.binary_cross_entropy_with_logits(logits.squeeze(-1), true.float())


def sampled_mrr(reader: FactReader, drawn: DrawnCandidates, n_relations: int) -> float:
    """The MRR of each answer among the entities that were drawn beside it."""
    judged, real = drawn.judged(n_relations), drawn.entities != NO_ENTITY
    scores: Floats = np.full(real.shape, -np.inf, np.float32)
    scores[real] = reader.read(judged.facts)[:, 0]
    gold = scores[real & (drawn.entities == drawn.answers[:, None])][:, None]
    above, equal = ((scores > gold).sum(axis=1), (scores == gold).sum(axis=1))
    return measure(Ranks(above, equal - 1), measures=(MRR(),))["mrr"]
