"""Path rules, by counting: r(X, Y) <- r1(X, Z), r2(Z, Y), up to a few steps, reciprocal relations included.

The confidence is (pairs that a path and a fact join) / (pairs that a path joins + smoothing). Paths are simple: no
entity stands in one twice, so that no fact can be its own reason. Every path from every entity is walked once; its
relations, read as digits, make a number, and what is counted are distinct (number, X, Y).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cear.core.compiling import compiled
from cear.core.counting import starts_run
from cear.core.errors import ConfigError
from cear.core.progress import Progress, silent
from cear.core.types import Floats, Ints
from cear.retrieval.rules.config import RuleSettings
from cear.retrieval.rules.counting import best_per_group, total_counts
from cear.retrieval.rules.graph import Graph

NO_RELATION = -1  # pads the body of a rule that is shorter than others

_WALKS = 4_000_000  # paths in memory at a time


@dataclass(frozen=True, slots=True, eq=False)
class PathRules:
    """Rules "what this path joins, the relation `head` joins", ascending by head, the most confident first."""

    head: Ints  # (rule,), in [0, 2R)
    body: Ints  # (rule, step), relations in [0, 2R), then NO_RELATION
    support: Ints  # (rule,), distinct pairs that a path and a fact join
    pairs: Ints  # (rule,), distinct pairs that a path joins

    def __len__(self) -> int:
        return len(self.head)

    def confidence(self, smoothing: float) -> Floats:
        """Support / (pairs of the body + smoothing), (rule,)."""
        return self.support / (self.pairs + smoothing)

    def take(self, rules: Ints) -> PathRules:
        """These rules, in this order."""
        return PathRules(self.head[rules], self.body[rules], self.support[rules], self.pairs[rules])


def learn_path_rules(graph: Graph, config: RuleSettings, *, seed: int = 0, progress: Progress = silent) -> PathRules:
    """Every path rule that passes the thresholds, at most `max_path_rules` of a head."""
    length, base = config.max_length, 2 * graph.n_relations + 1
    _refuse_too_long(graph, length)
    bounds = walks_from(graph, length)
    starts = _sample(bounds, config.max_walks, seed)
    bodies, heads = [], []
    with progress("Walking paths", int(bounds[starts].sum())) as bar:
        for part in _parts(starts, bounds):
            path, pair = _joined_pairs(graph, length, part, int(bounds[part].sum()))
            bodies.append(np.unique(path, return_counts=True))
            heads.append(np.unique(_with_heads(graph, path, pair), return_counts=True))
            bar.advance(int(bounds[part].sum()))
    paths, pairs = total_counts(bodies)
    rules, support = total_counts(heads)
    path = rules // base
    found = PathRules(rules % base - 1, _digits(path, base, length), support, pairs[np.searchsorted(paths, path)])
    return _best(found, config)


def walks_from(graph: Graph, length: int) -> Ints:
    """How many walks of 1 to `length` steps start at each entity, (entity,): at least as many as simple paths."""
    steps, walks = graph.steps, np.zeros(graph.n_entities, np.int64)
    for _ in range(length):
        counts = np.bincount(steps.rows, weights=1 + walks[steps.values], minlength=graph.n_entities)
        walks = counts.astype(np.int64)
    return walks


def _sample(bounds: Ints, max_walks: int, seed: int) -> Ints:
    """All entities that a path starts from, or as many at random as `max_walks` allows, ascending.

    A sample leaves out hubs that would take a tenth of it, for one of them says less than many others.
    """
    if bounds.sum() <= max_walks:
        return np.flatnonzero(bounds)
    shuffled = np.random.default_rng(seed).permutation(np.flatnonzero((bounds > 0) & (bounds <= max_walks // 10)))
    return np.sort(shuffled[np.cumsum(bounds[shuffled]) <= max_walks])


def _parts(starts: Ints, bounds: Ints) -> Iterator[Ints]:
    """The entities in portions whose paths fit in memory."""
    portion = np.cumsum(bounds[starts]) // _WALKS
    yield from np.split(starts, np.flatnonzero(starts_run(portion))[1:])


def _joined_pairs(graph: Graph, length: int, starts: Ints, bound: int) -> tuple[Ints, Ints]:
    """Each path with each pair X * N + Y that it joins, once, ascending by path."""
    keys = np.empty(bound, np.int64)
    steps, base, n = graph.steps, 2 * graph.n_relations + 1, graph.n_entities
    keys = keys[: _walk_kernel(starts, length, base, n, steps.offsets, steps.values, graph.steps_by, keys)]
    keys.sort()
    path, place = np.divmod(keys[starts_run(keys)], len(starts) * n)
    return path, starts[place // n] * n + place % n


def _with_heads(graph: Graph, path: Ints, pair: Ints) -> Ints:
    """The rule, path * base + relation + 1, of each joined pair and each relation that joins it too."""
    steps, base = graph.steps, 2 * graph.n_relations + 1
    joined = steps.rows * graph.n_entities + steps.values
    first, last = (np.searchsorted(joined, pair, side=side) for side in ("left", "right"))
    counts = last - first
    which = np.arange(counts.sum()) + np.repeat(last - np.cumsum(counts), counts)
    head, path = graph.steps_by[which] + 1, np.repeat(path, counts)
    rules: Ints = (path * base + head)[path != head]  # a relation is no reason for itself
    return rules


def _digits(path: Ints, base: int, length: int) -> Ints:
    """The relations of each path in the order of its steps, (path, length)."""
    digits = path[:, None] // base ** np.arange(length)[::-1] % base - 1
    shift = (digits == NO_RELATION).sum(axis=1, keepdims=True)  # a short path has its padding in front
    places = (np.arange(length) + shift) % max(length, 1)
    return np.take_along_axis(digits, places, axis=1)


def _best(rules: PathRules, config: RuleSettings) -> PathRules:
    """The rules that pass the thresholds, the most confident ones of each head."""
    enough = (rules.support >= config.min_support) & (rules.confidence(config.smoothing) >= config.min_confidence)
    long_enough = (rules.body != NO_RELATION).sum(axis=1) > (0 if config.direct else 1)
    rules = rules.take(np.flatnonzero(enough & long_enough))
    return rules.take(best_per_group(rules.head, rules.confidence(config.smoothing), config.max_path_rules))


def _refuse_too_long(graph: Graph, length: int) -> None:
    base = 2 * graph.n_relations + 1
    if base**length * max(graph.n_entities**2, base) >= 2**63:
        raise ConfigError(
            f"Paths of {length} steps over {graph.n_relations} relations and {graph.n_entities} entities have more "
            "names than a 64-bit number. Set max_length lower."
        )


@compiled(nogil=True)
def _walk_kernel(  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    starts, length, base, n_entities, offsets, targets, relations, keys
):
    n = 0
    node = np.empty(length + 1, np.int64)
    place = np.empty(length + 1, np.int64)
    path = np.zeros(length + 1, np.int64)
    for k in range(len(starts)):
        node[0], place[0] = starts[k], offsets[starts[k]]
        depth = 0
        while depth >= 0:
            i = place[depth]
            if depth == length or i == offsets[node[depth] + 1]:
                depth -= 1
                continue
            place[depth] += 1
            end = targets[i]
            fresh = True
            for d in range(depth + 1):
                fresh &= node[d] != end
            if fresh:
                depth += 1
                node[depth], place[depth] = end, offsets[end]
                path[depth] = path[depth - 1] * base + relations[i] + 1
                keys[n] = (path[depth] * len(starts) + k) * n_entities + end
                n += 1
    return n
