"""The model of one side: what a query's texts are, the tree over its answers, and the vectors learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cear.nouns import NO_ENTITY, Candidates, Ints, Ragged
from cear.retrieval.extreme_text import kernels, searching
from cear.retrieval.extreme_text.tree import LabelTree
from cear.retrieval.threads import torch_threads

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class QueryTexts:
    """The features of every text that a query may have, and the answers that its relation often has.

    The rows of `features` are the entities as what is asked about, the relations, the entities as frequent answers,
    and last an empty one. The same word is a feature of its own in each role.
    """

    features: Ragged  # (text,)
    frequent: Ints  # (relation, n), NO_ENTITY pads

    @property
    def n_entities(self) -> int:
        """The number of entities."""
        return (len(self.features) - 1 - len(self.frequent)) // 2

    @property
    def n_features(self) -> int:
        """The number of distinct features."""
        return int(self.features.values.max(initial=-1)) + 1

    def rows(self, entity: Ints, relation: Ints, frequent: Ints) -> Ints:
        """The texts of each query, as rows of `features`: (query, 2 + n)."""
        context = np.where(frequent == NO_ENTITY, self.n_entities, frequent) + self.n_entities + len(self.frequent)
        return np.column_stack([entity, self.n_entities + relation, context])


@dataclass(frozen=True, eq=False)
class SideModel:
    """P(answer | query) for the queries of one side. Its arrays may be a file mapped into memory."""

    texts: QueryTexts
    tree: LabelTree
    features: Vectors  # (feature, dim)
    nodes: Vectors  # (classifier, dim)

    def vectors(self, entity: Ints, relation: Ints) -> Vectors:
        """The mean of the vectors of each query's features, (query, dim)."""
        rows = self.texts.rows(entity, relation, self.texts.frequent[relation])
        with torch_threads():
            vectors: Vectors = kernels.pool_all(
                rows, self.texts.features.offsets, self.texts.features.values, self.features
            )
        return vectors

    def score_all(self, entity: Ints, relation: Ints) -> Tensor:
        """The log-probability of every entity as the answer, (query, entity)."""
        logits = torch.from_numpy(self.vectors(entity, relation)) @ torch.from_numpy(self.nodes).T
        with torch_threads():
            return torch.from_numpy(searching.log_probabilities(logits.numpy(), self.tree))

    def top_k(self, entity: Ints, relation: Ints, k: int, known: Ragged) -> Candidates:
        """The k most probable answers of each query but those known, best first, exactly."""
        vectors = self.vectors(entity, relation)
        entities = np.full((len(entity), k), NO_ENTITY)
        scores = np.full((len(entity), k), -np.inf, np.float32)
        with torch_threads():
            searching.search(vectors, self.tree, self.nodes, known.offsets, known.values, entities, scores)
        return Candidates(entities, scores)

    def tensors(self) -> dict[str, Tensor]:
        """Everything that the model is, by name."""
        arrays: dict[str, Any] = {
            "features": self.features,
            "nodes": self.nodes,
            "texts.offsets": self.texts.features.offsets,
            "texts.values": self.texts.features.values,
            "texts.frequent": self.texts.frequent,
            **{f"tree.{name}": array for name, array in self.tree._asdict().items()},
        }
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> Self:
        """The model that these tensors are; nothing is copied."""
        arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in tensors.items()}
        texts = QueryTexts(Ragged(arrays["texts.offsets"], arrays["texts.values"]), arrays["texts.frequent"])
        tree = LabelTree(**{name: arrays[f"tree.{name}"] for name in LabelTree._fields})
        return cls(texts, tree, arrays["features"], arrays["nodes"])
