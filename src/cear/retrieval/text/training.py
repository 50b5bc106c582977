"""The text retriever as a training task of Stage 1: InfoNCE, and vectors that are kept."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

import numpy as np
import torch

from cear.data import KnowledgeBase
from cear.nouns import Ints
from cear.progress import Progress, silent
from cear.retrieval.config import LossConfig, OptimizerConfig, RegularizerConfig, Stage1Config
from cear.retrieval.text.config import TextConfig
from cear.retrieval.text.negatives import TextQueries, nearest
from cear.retrieval.text.scorer import FrozenText, TextScorer
from cear.retrieval.text.tuned import TunedText
from cear.retrieval.training import Stage1Task, Validate, fit_stage1
from cear.texts import kept, text_vectors, texts
from cear.training import BEST, NO_DEADLINE, Deadline, State, load_weights

ENCODER = "encoder"


class TextTask(Stage1Task):
    """The InfoNCE of each batch of training queries, with the competitors of `TextQueries`."""

    def __init__(
        self,
        scorer: TextScorer,
        kb: KnowledgeBase,
        config: Stage1Config,
        validate: Validate,
        *,
        near: Ints,
        seed: int,
    ) -> None:
        super().__init__(scorer, kb, _as_trained(config), validate, seed=seed)
        self._queries = TextQueries(
            kb.known("train"),
            kb.n_entities,
            near,
            size=config.batch,
            negatives=config.text.negatives,
            hard=config.text.hard,
            seed=seed,
        )


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
    text = config.text
    read = partial(text_vectors, kb, text.encoder, tokens=text.tokens, progress=progress)
    tuned = text.tune == "encoder"
    scorer: TextScorer = TunedText(kb, text, seed=seed) if tuned else FrozenText(*read(), text, seed=seed)
    near = nearest(read()[0], progress=progress) if text.hard else np.zeros((kb.n_entities, 1), np.int64)
    task = TextTask(scorer, kb, config, validate, near=near, seed=seed)
    state = fit_stage1(task, kb, config, folder, seed=seed, deadline=deadline, progress=progress)
    if isinstance(scorer, TunedText):
        scorer.save_pretrained(folder / ENCODER)
    return _in_use(scorer, kb, text, folder), state


def load_text(kb: KnowledgeBase, config: TextConfig, folder: Path) -> TextScorer:
    """The text retriever that `train_text` left in a folder."""
    scorer: TextScorer
    if config.tune == "encoder":
        scorer = TunedText(kb, config.model_copy(update={"encoder": str(folder / ENCODER)}))
    else:
        scorer = FrozenText(*text_vectors(kb, config.encoder, tokens=config.tokens), config)
    scorer.load_state_dict(load_weights(folder))
    return _in_use(scorer, kb, config, folder)


def _in_use(scorer: TextScorer, kb: KnowledgeBase, config: TextConfig, folder: Path) -> TextScorer:
    """A trained scorer that trains no more; what a tuned encoder says of the entities is kept by its weights."""
    scorer.eval()
    if config.tune == "encoder":
        with (folder / BEST).open("rb") as file:
            weights = hashlib.file_digest(file, "sha256").hexdigest()
        with torch.no_grad():
            scorer.remember(kept([weights, str(config.tokens), *texts(kb.entities)], scorer.encode_entities))
    return scorer


def _as_trained(config: Stage1Config) -> Stage1Config:
    """The settings of Stage 1 with the loss and the optimiser of the text retriever."""
    text = config.text
    rate = text.encoder_learning_rate if text.tune == "encoder" else text.learning_rate
    return config.model_copy(
        update={
            "loss": LossConfig(kind="info_nce"),
            "regularizer": RegularizerConfig(weight=0),
            "relation_prediction": 0.0,
            "optimizer": OptimizerConfig(kind="adam", learning_rate=rate, decay="linear"),
        }
    )
