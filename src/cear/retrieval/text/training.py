"""The text retriever as a training task of Stage 1: InfoNCE over vectors of texts, kept or read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from cear.core.progress import Progress, silent
from cear.core.types import Ints
from cear.data import KnowledgeBase
from cear.retrieval.batches import Batch
from cear.retrieval.config import LossConfig, OptimizerConfig, RegularizerConfig, Stage1Config
from cear.retrieval.scorer import Scorer
from cear.retrieval.text.batches import TextQueries, nearest
from cear.retrieval.text.config import TextConfig
from cear.retrieval.text.pieces import Pieces
from cear.retrieval.text.scorer import TextScorer
from cear.retrieval.training import Stage1Task, Validate, fit_stage1
from cear.texts import KeptVectors, TunedVectors, text_vectors, texts
from cear.training import NO_DEADLINE, Deadline, State, load_weights

ENCODER = "encoder"


class TextTask(Stage1Task):
    """The InfoNCE of each batch of training queries, with the competitors of `TextQueries`.

    An encoder that learns reads the subjects of a batch; everybody else competes as remembered.
    """

    def __init__(
        self,
        scorer: TextScorer,
        kb: KnowledgeBase,
        config: Stage1Config,
        validate: Validate,
        *,
        near: Ints,
        seed: int,
        progress: Progress = silent,
    ) -> None:
        super().__init__(scorer, kb, _as_trained(config), validate, seed=seed)
        text, self._progress = config.text, progress
        self._tuned = scorer.texts if isinstance(scorer.texts, TunedVectors) else None
        self._learning, self._warm_up = self._tuned, text.warm_up
        self._queries = TextQueries(
            kb.known("train"),
            kb.n_entities,
            near,
            size=config.batch,
            negatives=text.negatives,
            hard=text.hard,
            seed=seed,
        )

    def build_optimizer(self, scorer: Scorer, config: Stage1Config) -> torch.optim.Optimizer:
        """Adam with a step size for the encoder, where it learns, one for words, and one for everything else."""
        text = config.text
        rates = {"texts.": text.encoder_learning_rate, "words.piece.": text.word_learning_rate, "": text.learning_rate}
        groups: dict[str, list[nn.Parameter]] = {prefix: [] for prefix in rates}
        for name, weight in scorer.named_parameters():
            if weight.requires_grad:
                groups[next(prefix for prefix in rates if name.startswith(prefix))].append(weight)
        learning = [{"params": weights, "lr": rates[prefix]} for prefix, weights in groups.items() if weights]
        return torch.optim.Adam(learning, fused=True)

    def losses(self, epoch: int, *, first: int) -> Iterator[Tensor]:
        """The loss of each step; texts are read after the first epochs."""
        self._learning = self._tuned if epoch >= self._warm_up else None
        yield from super().losses(epoch, first=first)

    def validate(self) -> float:
        """Filtered MRR on the validation split, by what the encoder says of every text now."""
        if self._learning is not None:
            self._learning.refresh_cache(progress=self._progress)
        return super().validate()

    def _loss(self, batch: Batch) -> Tensor:
        if self._learning is None:
            return super()._loss(batch)
        with self._learning.reading(torch.from_numpy(np.unique(batch.queries.entity))):
            return super()._loss(batch)


def train_text(
    kb: KnowledgeBase,
    config: Stage1Config,
    folder: Path,
    *,
    validate: Validate,
    seed: int = 0,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = silent,
) -> tuple[TextScorer, State]:
    """The text retriever that was best on validation, and how training went; resumes what `folder` holds."""
    scorer, start = _scorer(kb, config.text, seed=seed, progress=progress)
    near = nearest(start, progress=progress) if config.text.hard else np.zeros((kb.n_entities, 1), np.int64)
    task = TextTask(scorer, kb, config, validate, near=near, seed=seed, progress=progress)
    state = fit_stage1(task, kb, config, folder, seed=seed, deadline=deadline, progress=progress)
    if isinstance(scorer.texts, TunedVectors):
        scorer.texts.save_pretrained(folder / ENCODER)
    scorer.eval()
    return scorer, state


def load_text(kb: KnowledgeBase, config: TextConfig, folder: Path) -> TextScorer:
    """The text retriever that `train_text` left in a folder; its weights hold what it has read."""
    scorer, _ = _scorer(kb, config)
    scorer.load_state_dict(load_weights(folder))
    scorer.eval()
    return scorer


def _scorer(
    kb: KnowledgeBase, config: TextConfig, *, seed: int = 0, progress: Progress = silent
) -> tuple[TextScorer, Tensor]:
    """A fresh scorer, and the vectors of entities that it starts from."""
    start, relations = text_vectors(kb, config.encoder, tokens=config.tokens, progress=progress)
    vectors: KeptVectors | TunedVectors = KeptVectors(start)
    if config.tune == "encoder":
        vectors = TunedVectors(
            texts(kb.entities),
            start,
            config.encoder,
            tokens=config.tokens,
            layers=config.layers,
            dropout=config.dropout,
            seed=seed,
        )
    pieces = Pieces.of(kb.entities, words=config.tokens) if config.words else None
    return TextScorer(vectors, kb.n_entities, relations, config, pieces=pieces, seed=seed), start


def _as_trained(config: Stage1Config) -> Stage1Config:
    """The settings of Stage 1 with the loss of the text retriever, and step sizes that fall linearly."""
    return config.model_copy(
        update={
            "loss": LossConfig(kind="info_nce"),
            "regularizer": RegularizerConfig(weight=0),
            "relation_prediction": 0.0,
            "optimizer": OptimizerConfig(kind="adam", decay="linear"),
        }
    )
