"""Rules between attributes, by counting: who has attribute b has attribute a, r(X, c) <- r'(X, c').

The confidence of a <- b is |a ∩ b| / (|b| + smoothing), where a and b stand for their members. All of them together
are one product of the entity-attribute matrix with itself; a row at a time, only what passes the thresholds is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cear.core.compiling import compiled
from cear.core.progress import Progress, silent
from cear.core.types import Floats, Ints
from cear.retrieval.rules.config import RuleSettings
from cear.retrieval.rules.counting import best_per_group
from cear.retrieval.rules.graph import Graph

Ints32 = npt.NDArray[np.int32]

_BODIES = 2048  # attributes between two steps of the progress bar


@dataclass(frozen=True, slots=True, eq=False)
class AttributeRules:
    """Rules "who has `body` has `head`", ascending by body, then by head. Both are attributes of a `Graph`."""

    head: Ints32  # (rule,)
    body: Ints32  # (rule,)
    support: Ints32  # (rule,), entities that have both

    def __len__(self) -> int:
        return len(self.head)

    def confidence(self, graph: Graph, smoothing: float) -> Floats:
        """Support / (members of the body + smoothing), (rule,)."""
        return self.support / (graph.members.counts[self.body] + smoothing)

    def take(self, rules: Ints) -> AttributeRules:
        """These rules, in this order."""
        return AttributeRules(self.head[rules], self.body[rules], self.support[rules])


def learn_attribute_rules(graph: Graph, config: RuleSettings, progress: Progress = silent) -> AttributeRules:
    """Every attribute rule that passes the thresholds, at most `max_rules` of a head."""
    n_bodies = len(graph.members)
    parts = [np.zeros((0, 3), np.int32)]
    with progress("Counting attributes", n_bodies) as bar:
        for first in range(0, n_bodies, _BODIES):
            last = min(first + _BODIES, n_bodies)
            parts.append(_count(graph, config, first, last))
            bar.advance(last - first)
    return _best(AttributeRules(*np.concatenate(parts).T), graph, config)


def _count(graph: Graph, config: RuleSettings, first: int, last: int) -> Ints32:
    """Head, body and support of the rules with these bodies, (rule, 3)."""
    members, attributes = graph.members, graph.attributes
    arrays = (members.offsets, members.values, attributes.offsets, attributes.values)
    thresholds = (config.min_support, config.min_confidence, config.smoothing)
    rules: Ints32 = _count_kernel(first, last, *arrays, *thresholds)
    return rules


def _best(rules: AttributeRules, graph: Graph, config: RuleSettings) -> AttributeRules:
    """The most confident rules of each head, ascending by body, then by head."""
    if not config.direct:  # r(X, c) <- r'(X, c) speaks of the same two entities
        rules = rules.take(np.flatnonzero(graph.entity[rules.head] != graph.entity[rules.body]))
    kept = best_per_group(rules.head, rules.confidence(graph, config.smoothing), config.max_rules)
    return rules.take(kept[np.lexsort((rules.head[kept], rules.body[kept]))])


@compiled(nogil=True)
def _count_kernel(  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    first, last, offsets, members, at, attributes, min_support, min_confidence, smoothing
):
    support = np.zeros(len(offsets) - 1, np.int32)
    touched = np.empty(len(offsets) - 1, np.int64)
    rules = np.empty((1024, 3), np.int32)
    n = 0
    for body in range(first, last):
        seen = 0
        for i in range(offsets[body], offsets[body + 1]):
            for j in range(at[members[i]], at[members[i] + 1]):
                head = attributes[j]
                if support[head] == 0:
                    touched[seen] = head
                    seen += 1
                support[head] += 1
        size = offsets[body + 1] - offsets[body]
        enough = max(min_support, min_confidence * (size + smoothing))
        for head in touched[:seen]:
            if support[head] >= enough and head != body:
                if n == len(rules):
                    rules = np.concatenate((rules, np.empty_like(rules)))
                rules[n, 0], rules[n, 1], rules[n, 2] = head, body, support[head]
                n += 1
            support[head] = 0
    return rules[:n]
