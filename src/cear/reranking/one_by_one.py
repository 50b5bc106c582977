"""Re-rankers that read a query with one candidate at a time: a sequence and a logit for each."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

import numpy as np
from torch import Tensor

from cear.candidates import Lists
from cear.core.devices import device_of, tensor
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, Floats, Ints, Queries
from cear.reranking.learned import LearnedReranker
from cear.texts import read_in_batches


class OneByOne(LearnedReranker):
    """A re-ranker that gives every candidate a score of its own, whoever else is in its list."""

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

    def features(self, lists: Lists) -> Floats:
        """Nothing: it reads texts alone."""
        return np.zeros((*lists.candidates.entities.shape, 0), np.float32)

    def save_pretrained(self, folder: Path) -> None:
        """Write all that loading needs beside the KB."""
        self.save_model(folder)
        self.save_settings(folder)
