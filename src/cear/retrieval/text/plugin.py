"""Texts as a retriever that plugs in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from torch import Tensor

from cear.core.context import Context
from cear.core.tensors import load_state
from cear.data import KnowledgeBase
from cear.evaluation import valid_mrr
from cear.retrieval.gradient import ScheduleConfig
from cear.retrieval.retriever import Fitted, RetrieverConfig
from cear.retrieval.text.batches import nearest
from cear.retrieval.text.config import TextSettings
from cear.retrieval.text.scorer import TextScorer
from cear.retrieval.text.training import TextTask
from cear.texts import KeptVectors, TextReader, TunedVectors, load_encoder, text_vectors, texts
from cear.training import State, fit, load_weights

if TYPE_CHECKING:
    from cear.retrieval.text.pieces import Pieces

ENCODER = "encoder"


class TextConfig(TextSettings, ScheduleConfig, RetrieverConfig):
    """A bi-encoder over texts in the manner of SimKGC, and how it is trained: by InfoNCE with Adam."""

    version: ClassVar[int] = 1
    data_parallel: ClassVar[bool] = True
    renamed: ClassVar[Mapping[str, str]] = {
        **RetrieverConfig.renamed,
        **{key: f"tune: {{{key}: …}}" for key in ("layers", "warm_up")},
        "encoder_learning_rate": "tune: {learning_rate: …}",
    }
    model: Literal["text"] = "text"
    """Which retriever."""

    def preflight(self, kb: KnowledgeBase, context: Context) -> None:
        """Refuse an encoder that is not there."""
        del kb
        load_encoder(self.encoder, download=context.download)

    def fit(self, kb: KnowledgeBase, folder: Path, context: Context) -> Fitted:
        """Train to the best on validation; resumes what `folder` holds."""
        scorer, start = self._scorer(kb, context)
        near = nearest(start, progress=context.progress) if self.hard else np.zeros((kb.n_entities, 1), np.int64)
        task = TextTask(scorer, kb, self, valid_mrr(kb), context, near=near, batch=self.batch, epochs=self.epochs)
        state = fit(task, self.schedule, folder, key=[self.settings_key(), kb.digest], context=context)
        if isinstance(scorer.texts, TunedVectors):
            scorer.texts.save_pretrained(folder / ENCODER)
        return Fitted(scorer.eval(), state)

    def load(self, kb: KnowledgeBase, folder: Path, context: Context) -> TextScorer:
        """The scorer that was best on validation; its weights hold what it has read."""
        scorer, _ = self._scorer(kb, context)
        load_state(scorer, load_weights(folder))
        return scorer.eval()

    def details(self, training: State) -> dict[str, Any]:
        """Epochs."""
        return {"epochs": training.epoch, "best_epoch": training.best_epoch}

    def _scorer(self, kb: KnowledgeBase, context: Context) -> tuple[TextScorer, Tensor]:
        """A fresh scorer, and the vectors of entities that it starts from."""
        start, relations = text_vectors(
            kb,
            self.encoder,
            tokens=self.tokens,
            device=context.device,
            download=context.download,
            progress=context.progress,
            own=context.vectors,
        )
        reader = TextReader(self.encoder, self.tokens, context.device, context.download)
        vectors: KeptVectors | TunedVectors = KeptVectors(start, reader)
        if self.tune is not None:
            vectors = TunedVectors(
                texts(kb.entities),
                start,
                self.encoder,
                tokens=self.tokens,
                layers=self.tune.layers,
                dropout=self.dropout,
                seed=context.seed,
            )
        pieces = self._pieces(kb) if self.words else None
        scorer = TextScorer(vectors, kb.n_entities, relations, self, pieces=pieces, seed=context.seed)
        return scorer.to(context.device), start

    def _pieces(self, kb: KnowledgeBase) -> Pieces:
        """Words and pieces of words of all entities."""
        from cear.retrieval.text.pieces import Pieces  # SciPy, for who compares words alone

        return Pieces.of(kb.entities, words=self.tokens)
