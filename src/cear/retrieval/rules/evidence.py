"""Facts and rules laid out for the kernels: flat arrays, found by body and by head."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cear.core.types import Floats, Ints
from cear.retrieval.rules.graph import Graph
from cear.retrieval.rules.rulebook import RuleBook

Floats32 = npt.NDArray[np.float32]
Ints32 = npt.NDArray[np.int32]


class Facts(NamedTuple):
    """The arrays of `Graph` that scoring reads."""

    entity: Ints
    blocks: Ints
    offsets: Ints
    members: Ints
    at: Ints
    attributes: Ints

    @classmethod
    def of(cls, graph: Graph) -> Facts:
        """The arrays of a graph."""
        members, attributes = graph.members, graph.attributes
        return cls(graph.entity, graph.blocks, members.offsets, members.values, attributes.offsets, attributes.values)


class Evidence(NamedTuple):
    """Every rule's evidence: attribute rules found by body and by head, path rules by head."""

    by_body: Ints  # (attribute + 1,), the rules of body b are by_body[b] to by_body[b + 1]
    head: Ints32  # (rule,), ascending within a body
    of_body: Floats32  # (rule,)
    by_head: Ints  # (attribute + 1,)
    body: Ints32  # (rule,)
    of_head: Floats32  # (rule,)
    by_relation: Ints  # (2R + 1,)
    path: Ints  # (path rule, step)
    of_path: Floats32  # (path rule,)

    @classmethod
    def of(cls, book: RuleBook) -> Evidence:
        """-log(1 - confidence) of every rule, laid out for look-up by body and by head."""
        rules, paths, smoothing = book.attribute_rules, book.path_rules, book.config.smoothing
        evidence = _surprise(rules.support / (book.body_counts[rules.body] + smoothing))
        attributes = np.arange(len(book.graph.members) + 1)
        by_head = np.argsort(rules.head, kind="stable")
        return cls(
            by_body=np.searchsorted(rules.body, attributes),
            head=rules.head,
            of_body=evidence,
            by_head=np.searchsorted(rules.head[by_head], attributes),
            body=rules.body[by_head],
            of_head=evidence[by_head],
            by_relation=np.searchsorted(paths.head, np.arange(2 * book.graph.n_relations + 1)),
            path=paths.body,
            of_path=_surprise(paths.confidence(smoothing)),
        )


def _surprise(confidence: Floats) -> Floats32:
    """-log(1 - c): how surprising it would be if the rule were wrong."""
    surprise: Floats32 = -np.log1p(-confidence).astype(np.float32)
    return surprise
