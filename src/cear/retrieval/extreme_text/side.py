"""The model of one side: what a query's texts are, the tree over its answers, and the weights learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cear.core.threads import torch_threads
from cear.core.types import NO_ENTITY, Bools, Candidates, Ints, Ragged
from cear.retrieval.extreme_text import searching
from cear.retrieval.extreme_text.kernels import Texts, Weights
from cear.retrieval.extreme_text.tree import LabelTree

Vectors = npt.NDArray[np.float32]

_NOTHING_CLOSED: Bools = np.zeros(0, bool)


@dataclass(frozen=True, eq=False)
class QueryTexts:
    """The features of every text that a query may have, and the answers that its relation often has.

    The rows of `features` are the entities as what is asked about, the relations, the entities as frequent answers,
    and last an empty one. The same word is a feature of its own in each role.
    """

    features: Ragged  # (text,)
    frequent: Ints  # (relation, n), NO_ENTITY pads
    role_weights: Vectors  # (role,)

    @property
    def n_entities(self) -> int:
        """The number of entities."""
        return (len(self.features) - 1 - len(self.frequent)) // 2

    @property
    def n_features(self) -> int:
        """The number of distinct features."""
        return int(self.features.values.max(initial=-1)) + 1

    @property
    def arrays(self) -> Texts:
        """What the compiled loops read."""
        return Texts(self.features.offsets, self.features.values, self.role_weights)

    def rows(self, entity: Ints, relation: Ints, frequent: Ints) -> Ints:
        """The texts of each query, as rows of `features`: (query, 2 + n)."""
        context = np.where(frequent == NO_ENTITY, self.n_entities, frequent) + self.n_entities + len(self.frequent)
        return np.column_stack([entity, self.n_entities + relation, context])

    def asked(self, entity: Ints, relation: Ints) -> Ints:
        """The texts of queries that are asked, not trained on."""
        return self.rows(entity, relation, self.frequent[relation])


@dataclass(frozen=True, eq=False)
class SideModel:
    """P(answer | query) for the queries of one side. Its arrays may be a file mapped into memory."""

    texts: QueryTexts
    tree: LabelTree
    weights: Weights

    def score_all(self, entity: Ints, relation: Ints) -> Tensor:
        """The log-probability of every entity as the answer, (query, entity)."""
        rows, texts = self.texts.asked(entity, relation), self.texts.arrays
        with torch_threads():
            vectors = torch.from_numpy(searching.pool_all(rows, texts, self.weights.features))
            logits = (vectors @ torch.from_numpy(self.weights.nodes).T).numpy()
            if len(self.weights.pairs):
                searching.add_pairs(rows, texts, self.weights.pairs, logits)
            return torch.from_numpy(searching.log_probabilities(logits, self.tree))

    def score_labels(self, entity: Ints, relation: Ints, labels: Ints) -> Tensor:
        """The log-probability of the labels in each query's row, (query, label)."""
        scores = np.empty(labels.shape, np.float32)
        with torch_threads():
            searching.score_labels(
                self.texts.asked(entity, relation), self.texts.arrays, self.tree, self.weights, labels, scores
            )
        return torch.from_numpy(scores)

    def top_k(self, entity: Ints, relation: Ints, k: int, known: Ragged, closed: Bools = _NOTHING_CLOSED) -> Candidates:
        """The k most probable answers of each query but those known, best first, exactly.

        Labels below the nodes that are `closed`, (node,) or the first of them, are left to others.
        """
        rows, texts = self.texts.asked(entity, relation), self.texts.arrays
        entities = np.full((len(entity), k), NO_ENTITY)
        scores = np.full((len(entity), k), -np.inf, np.float32)
        with torch_threads():
            searching.search(
                rows, texts, self.tree, self.weights, closed, known.offsets, known.values, entities, scores
            )
        return Candidates(entities, scores)

    def tensors(self) -> dict[str, Tensor]:
        """Everything that the model is, by name."""
        arrays: dict[str, Any] = {
            "texts.offsets": self.texts.features.offsets,
            "texts.values": self.texts.features.values,
            "texts.frequent": self.texts.frequent,
            "texts.role_weights": self.texts.role_weights,
            **{f"tree.{name}": array for name, array in self.tree._asdict().items()},
            **{f"weights.{name}": array for name, array in self.weights._asdict().items()},
        }
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """The model that these tensors are; nothing is copied."""
        arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in tensors.items()}
        features = Ragged(arrays["texts.offsets"], arrays["texts.values"])
        texts = QueryTexts(features, arrays["texts.frequent"], arrays["texts.role_weights"])
        tree = LabelTree(**{name: arrays[f"tree.{name}"] for name in LabelTree._fields})
        return cls(texts, tree, Weights(**{name: arrays[f"weights.{name}"] for name in Weights._fields}))
