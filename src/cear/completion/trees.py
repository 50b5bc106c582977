"""LightGBM's trees read from their text, for a few rows: importing LightGBM takes longer than asking them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from cear.core.types import Bools, Floats, Ints

Reals = npt.NDArray[np.float64]

_TREE = re.compile(r"^Tree=\d+$(.*?)(?=^Tree=|^end of trees)", re.DOTALL | re.MULTILINE)
_ZERO = 1e-35  # what LightGBM takes for zero
# Bits of a decision's type: by category; left where a value is missing; what is missing: nothing, zeros, or NaN.
_BY_CATEGORY, _LEFT, _MISSING = 1, 2, 2
_NO_ZEROS, _NO_NAN = 1, 2


@dataclass(frozen=True, eq=False)
class Trees:
    """The nodes of all trees in one row; a leaf is its own child."""

    feature: Ints  # (node,)
    threshold: Reals  # (node,)
    kind: Ints  # (node,)
    children: Ints  # (node, 2): left, right
    value: Reals  # (node,): of leaves
    roots: Ints  # (tree,)
    depth: int

    @classmethod
    def of(cls, text: str) -> Self:
        """The trees of a model in LightGBM's text form; `ValueError` for what only LightGBM itself can read."""
        parts, start, roots = [], 0, []
        for tree in _TREE.finditer(text):
            part = _nodes(dict(_fields(tree[1])), start)
            roots.append(start)
            parts.append(part)
            start += len(part[0])
        if not parts:
            raise ValueError("no trees")
        feature, threshold, kind, children, value = (np.concatenate(column) for column in zip(*parts, strict=True))
        longest = max(len(part[0]) for part in parts)
        return cls(feature, threshold, kind, children, value, np.array(roots, np.int64), longest)

    def raw(self, features: Floats) -> Reals:
        """The sum of what all trees say, (row,), added up in their order, as LightGBM does."""
        x = features.astype(np.float64)
        node = np.broadcast_to(self.roots, (len(x), len(self.roots)))  # (row, tree)
        for _ in range(self.depth):
            below = self.children[node, self._goes_right(x, node).astype(np.int64)]
            if np.array_equal(below, node):
                break
            node = below
        return np.asarray(np.cumsum(self.value[node], axis=1)[:, -1])

    def _goes_right(self, x: Reals, node: Ints) -> Bools:
        value = np.take_along_axis(x, self.feature[node], axis=1)
        kind = self.kind[node]
        missing, none = kind >> _MISSING, np.isnan(value)
        value = np.where(none & (missing != _NO_NAN), 0.0, value)
        gone = (none & (missing == _NO_NAN)) | ((np.abs(value) <= _ZERO) & (missing == _NO_ZEROS))
        return np.asarray(np.where(gone, kind & _LEFT == 0, ~(value <= self.threshold[node])))


def _fields(block: str) -> Iterator[tuple[str, str]]:
    for line in block.splitlines():
        name, is_field, value = line.partition("=")
        if is_field:
            yield name, value


def _nodes(tree: dict[str, str], start: int) -> tuple[Ints, Reals, Ints, Ints, Reals]:
    """Feature, threshold, kind, children and value of the nodes of a tree, splits first, numbered from `start`."""
    leaves = int(tree["num_leaves"])
    if tree.get("is_linear", "0") != "0" or tree.get("num_cat", "0") != "0":
        raise ValueError("linear trees or categories")
    splits = leaves - 1
    own = np.arange(start + splits, start + splits + leaves)

    def row(name: str, kind: type) -> npt.NDArray[np.generic]:
        return np.array(tree[name].split() if splits else [], kind)

    below = np.stack([row("left_child", np.int64), row("right_child", np.int64)], axis=1).astype(np.int64)
    below = np.where(below >= 0, below + start, start + splits + ~below)  # ~i is leaf i
    if below.size and (below.min() < start or below.max() >= start + splits + leaves):
        raise ValueError("a child that is not there")
    pad = np.zeros(leaves)
    return (
        np.concatenate([row("split_feature", np.int64), pad]).astype(np.int64),
        np.concatenate([row("threshold", np.float64), pad]).astype(np.float64),
        np.concatenate([row("decision_type", np.int64), pad]).astype(np.int64),
        np.concatenate([below.reshape(-1, 2), np.stack([own, own], axis=1)]),
        np.concatenate([np.zeros(splits), np.array(tree["leaf_value"].split(), np.float64)]),
    )
