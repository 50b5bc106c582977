"""What re-rankers that learn have in common. A subclass says how it scores a batch of lists; the rest may stay."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cear.candidates import Lists
from cear.core.context import Context
from cear.core.devices import array, computing, device_of
from cear.core.files import write_json
from cear.core.progress import Progress, silent
from cear.core.tensors import write_tensors
from cear.core.types import NO_ENTITY, Bools, Floats, Ints
from cear.reranking.reranker import CONFIG, Phase, RerankerConfig
from cear.texts import pack_by_tokens

WEIGHTS = "weights.safetensors"


class LearnedReranker(ABC):
    """A `Trainable` of one phase and one learning rate, whose lists cost a token a candidate and are never cut."""

    read_tokens: int | None = None
    """Tokens in a batch without gradients, at most; None takes those of training."""

    config: RerankerConfig
    model: nn.Module

    def __init__(self, config: RerankerConfig, model: nn.Module, context: Context) -> None:
        self.config, self.model = config, model.to(context.device).eval()
        self._seed, self._precision = context.seed, context.precision

    @abstractmethod
    def score(self, lists: Lists, features: Floats) -> Tensor:
        """The scores of a batch of lists, (list, candidate), with gradients when the model trains."""

    @abstractmethod
    def features(self, lists: Lists) -> Floats:
        """What it reads beside texts, (list, candidate, feature), of lists whose facts nobody has seen."""

    @torch.inference_mode()
    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        """A score for each candidate; it depends on its own list alone, not on what shares its batch."""
        scores = np.empty(lists.candidates.entities.shape, np.float32)
        most = min(self.config.max_tokens, self.read_tokens or self.config.max_tokens)
        with progress("Re-ranking", len(lists)) as bar, computing(device_of(self.model), self._precision):
            for rows in pack_by_tokens(self.lengths(lists), most):
                some = lists[rows]
                scores[rows] = array(self.score(some, self.features(some)))
                bar.advance(len(rows))
        return np.where(lists.candidates.entities == NO_ENTITY, -np.inf, scores)

    def fit_normalizer(self, features: Floats) -> None:
        """Take the scale of each feature from the lists that it will learn from; here they have one scale."""
        del features

    def refresh_cache(self, *, progress: Progress = silent) -> None:
        """Bring what is kept of texts up to date with the weights; here nothing is kept."""
        del progress

    def lengths(self, lists: Lists) -> Ints:
        """The tokens that each list costs, (list,): one for the query and one for each candidate."""
        return np.full(len(lists), 1 + lists.candidates.k)

    def shortened(self, lists: Lists) -> Bools:
        """Which lists had to be cut to fit: none."""
        return np.zeros(len(lists), bool)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """All that learns, with the learning rate of the settings."""
        learns = [weight for weight in self.model.parameters() if weight.requires_grad]
        return [{"params": learns, "lr": self.config.learning_rate}]

    def phases(self) -> Sequence[Phase]:
        """One: all of it learns from the first step on."""
        return [Phase("learning", lambda reranker: reranker)]

    def save_pretrained(self, folder: Path) -> None:
        """Write weights and settings: all that loading needs beside the knowledge base."""
        write_tensors(folder / WEIGHTS, dict(self.model.state_dict()))
        self.save_settings(folder)

    def save_settings(self, folder: Path) -> None:
        """Write what `load_reranker` reads first: which re-ranker this is."""
        write_json(folder / CONFIG, {"config": self.config.settings_key(), "seed": self._seed})
