"""The model of one side in PyTorch, for every device but the CPU, whose loops are compiled (`searching`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from cear.core.blocks import blocks, rows_within
from cear.core.devices import tensor
from cear.core.spans import spans
from cear.core.types import Candidates, Ints, Ragged
from cear.retrieval.extreme_text.kernels import ROLES, SALT
from cear.retrieval.extreme_text.side import SideModel
from cear.retrieval.extreme_text.tree import LabelTree
from cear.retrieval.search import best_of


class TreeOnDevice:
    """A label tree: log P of all labels from what all classifiers say, level by level."""

    def __init__(self, tree: LabelTree, device: torch.device | str) -> None:
        child = np.arange(1, len(tree.parent))  # every node but the root
        node = tree.parent[child]
        place, pair = child - tree.first[node], tree.children[node] == 2
        self._row = tensor(tree.row[node] + np.where(pair, 0, place), device)  # (child,), its classifier
        self._sign = tensor(np.where(pair & (place == 1), -1, 1).astype(np.float32), device)
        self._parent, self._leaf = tensor(tree.parent, device), tensor(tree.leaf, device)
        self._levels = tree.levels()
        self.n_nodes = len(tree.parent)

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """(query, classifier) -> (query, label)."""
        reached = logits.new_zeros(len(logits), self.n_nodes)  # log P of each node
        reached[:, 1:] = logsigmoid(logits[:, self._row] * self._sign)
        for level in self._levels[1:]:
            reached[:, level] += reached[:, self._parent[level]]
        return reached[:, self._leaf]


class SideOnDevice:
    """`SideModel` in PyTorch: P(answer | query) of all answers, from which those wanted are taken.

    Everything stands on one device. That cannot be `meta`: how many features a query has is a value, not a shape.
    """

    def __init__(self, model: SideModel, device: torch.device | str) -> None:
        self._texts, arrays = model.texts, model.texts.arrays
        self._starts, self._ids, self._role_weights = (tensor(values, device) for values in arrays)
        self._features, self._nodes, self._pairs = (tensor(values, device) for values in model.weights)
        self._tree, self._n_labels = TreeOnDevice(model.tree, device), model.tree.n_labels

    def score_all(self, entity: Ints, relation: Ints) -> Tensor:
        """The log-probability of every entity as the answer, (query, entity)."""
        scores = self._features.new_empty(len(entity), self._n_labels)
        for block in self._blocks(len(entity)):
            scores[block] = self._scores(entity[block], relation[block])
        return scores

    def score_labels(self, entity: Ints, relation: Ints, labels: Ints) -> Tensor:
        """The log-probability of the labels in each query's row, (query, label)."""
        scores = self._features.new_empty(labels.shape)
        for block in self._blocks(len(entity)):
            wanted = tensor(labels[block], scores.device)
            scores[block] = self._scores(entity[block], relation[block]).gather(1, wanted)
        return scores

    def top_k(self, entity: Ints, relation: Ints, k: int, known: Ragged) -> Candidates:
        """The k most probable answers of each query but those known, best first, exactly."""
        found = Candidates(np.zeros((len(entity), k), np.int64), np.zeros((len(entity), k), np.float32))
        for block in self._blocks(len(entity)):
            best = best_of(
                self._scores(entity[block], relation[block]), k, known.take(np.arange(block.start, block.stop))
            )
            found.entities[block], found.scores[block] = best.entities, best.scores
        return found

    def _blocks(self, n_queries: int) -> Iterator[slice]:
        """Queries that are scored together: a few matrices of (query, node) fit into memory."""
        return blocks(n_queries, rows_within(16 * self._tree.n_nodes))

    def _scores(self, entity: Ints, relation: Ints) -> Tensor:
        """The log-probability of every label for one block, (query, label)."""
        rows = tensor(self._texts.asked(entity, relation), self._ids.device)
        query, ids, shares = self._bags(rows)
        vectors = self._features.new_zeros(len(rows), self._features.shape[1])
        for part in blocks(len(ids), rows_within(8 * vectors.shape[1])):
            vectors.index_add_(0, query[part], shares[part, None] * self._features[ids[part]])
        logits = vectors @ self._nodes.T
        if len(self._pairs):
            self._add_pairs(logits, query, ids, shares)
        return self._tree.log_probabilities(logits)

    def _bags(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Query, feature and weight of every feature of every query, (feature of a query,).

        Those of a role share its weight.
        """
        counts = self._starts[rows + 1] - self._starts[rows]  # (query, text)
        role = torch.arange(rows.shape[1], device=rows.device).clamp_max(ROLES - 1)
        of_role = counts.new_zeros(len(rows), ROLES).index_add_(1, role, counts)
        share = (self._role_weights / of_role.clamp_min(1))[:, role]  # (query, text)
        text, place = spans(self._starts[rows].flatten(), counts.flatten())
        return text // rows.shape[1], self._ids[place], share.flatten()[text]

    def _add_pairs(self, logits: Tensor, query: Tensor, ids: Tensor, shares: Tensor) -> None:
        """Add to w · vector of every classifier, (query, classifier), what it says of the features themselves."""
        row = torch.arange(logits.shape[1], device=logits.device)
        for part in blocks(len(ids), rows_within(24 * len(row))):
            slots = ((ids[part, None] + 1) * SALT + row) & (len(self._pairs) - 1)  # (feature of a query, classifier)
            logits.index_add_(0, query[part], shares[part, None] * self._pairs[slots])
