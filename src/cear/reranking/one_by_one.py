"""Re-rankers that read a query with one candidate at a time: a sequence and a logit for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from cear.candidates import Lists
from cear.core.context import Context
from cear.core.devices import device_of, tensor
from cear.core.files import write_json
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, Bools, Floats, Ints, Queries
from cear.reranking.reranker import CONFIG, Phase, RerankerConfig
from cear.texts import read_in_batches


class OneByOne(ABC):
    """A re-ranker that gives every candidate a score of its own, whoever else is in its list."""

    model: nn.Module

    def __init__(self, config: RerankerConfig, context: Context) -> None:
        self.config, self._seed, self._precision = config, context.seed, context.precision

    @abstractmethod
    def pair_lengths(self, queries: Queries, entities: Ints) -> Ints:
        """The tokens of each query with the entity in its row, (pair,)."""

    @abstractmethod
    def pair_logits(self, queries: Queries, entities: Ints) -> Tensor:
        """The logit of the entity in each query's row as its answer, (pair,), with gradients when the model trains."""

    @abstractmethod
    def save_model(self, folder: Path) -> None:
        """Write weights and tokenizer."""

    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        """A score for each candidate; it depends on its own query and itself alone."""
        row, place = np.nonzero(lists.candidates.entities != NO_ENTITY)
        queries, entities = lists.queries[row], lists.candidates.entities[row, place]
        scores = np.full(lists.candidates.entities.shape, -np.inf, np.float32)
        scores[row, place] = read_in_batches(
            self.pair_lengths(queries, entities),
            lambda pairs: self.pair_logits(queries[pairs], entities[pairs]),
            device=device_of(self.model),
            precision=self._precision,
            progress=progress,
        )
        return scores

    def score(self, lists: Lists, features: Floats) -> Tensor:
        """The scores of a batch of lists, (list, candidate), with gradients when the model trains; 0 where padded."""
        del features
        row, place = np.nonzero(lists.candidates.entities != NO_ENTITY)
        logits = self.pair_logits(lists.queries[row], lists.candidates.entities[row, place])
        cells = tensor(row, logits.device), tensor(place, logits.device)
        return logits.new_zeros(lists.candidates.entities.shape).index_put(cells, logits)

    def lengths(self, lists: Lists) -> Ints:
        """The tokens that each list costs, (list,): its candidates, padded to the longest of them."""
        row, place = np.nonzero(lists.candidates.entities != NO_ENTITY)
        longest = np.ones(len(lists), np.int64)
        np.maximum.at(longest, row, self.pair_lengths(lists.queries[row], lists.candidates.entities[row, place]))
        return longest * lists.candidates.k

    def shortened(self, lists: Lists) -> Bools:
        """None: texts are cut to what is configured, and that fits."""
        return np.zeros(len(lists), bool)

    def fit_normalizer(self, features: Floats) -> None:
        """Nothing: there are no features."""
        del features

    def refresh_cache(self, *, progress: Progress = silent) -> None:
        """Nothing: texts are read whenever a list is."""
        del progress

    def parameter_groups(self) -> list[dict[str, Any]]:
        """One learning rate for all weights."""
        return [{"params": [*self.model.parameters()], "lr": self.config.learning_rate}]

    def phases(self) -> Sequence[Phase]:
        """One: all of it learns from the first step on."""
        return [Phase("learning", lambda reranker: reranker)]

    def save_pretrained(self, folder: Path) -> None:
        """Write all that loading needs beside the KB."""
        self.save_model(folder)
        write_json(folder / CONFIG, {"config": self.config.settings_key(), "seed": self._seed})
