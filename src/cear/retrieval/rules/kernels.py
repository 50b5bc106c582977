"""The compiled loops that score queries: which rules fire for which entities, and what they amount to.

The evidence of a rule is -log(1 - confidence). Of each kind of rule, an entity keeps the largest few pieces of
evidence, in descending order; each next one counts `decay` times less. Rules of one kind say much the same, rules of
different kinds do not: kinds add up, each with its weight. A rule counts once for an entity, however many paths lead
to it.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from cear.core.compiling import compiled
from cear.core.types import Floats, Ints, Queries
from cear.retrieval.rules.config import RuleSettings
from cear.retrieval.rules.evidence import Evidence, Facts

Floats32 = npt.NDArray[np.float32]


class Board(NamedTuple):
    """What a thread writes on while it scores a query."""

    best: Floats32  # (entity, rule), descending
    touched: Ints  # (entity,), the first `seen` have evidence
    seen: Ints  # (1,)
    ends: Ints  # (entity,), where the paths of a rule lead
    stamp: Ints  # (entity,), the last path rule that led there
    tick: Ints  # (1,), the path rule that is followed now

    @classmethod
    def empty(cls, n_entities: int, keep: int) -> Board:
        """A clean board for so many entities and rules of each."""
        touched, ends, stamp = np.zeros((3, n_entities), np.int64)
        seen, tick = np.zeros((2, 1), np.int64)
        return cls(np.zeros((n_entities, keep), np.float32), touched, seen, ends, stamp, tick)


def score_queries(queries: Queries, facts: Facts, evidence: Evidence, config: RuleSettings, scores: Floats) -> None:
    """Add the evidence for each entity as the answer of each query to `scores`, (query, entity).

    Threads take queries in turn: neighbours often share a relation and cost alike.
    """
    threads = max(1, min(torch.get_num_threads(), len(queries)))
    weights = (config.weights.attribute, config.weights.likeness, config.weights.path)
    settings = (float(config.decay), tuple(map(float, weights)))

    def work(first: int) -> None:
        board = Board.empty(scores.shape[1], config.best)
        _score_every(first, threads, queries.entity, queries.relation, facts, evidence, board, *settings, scores)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))


@compiled(nogil=True)
def _score_every(  # pragma: no cover - compiled
    first, step, entity, relation, facts, evidence, board, decay, weights, scores
):
    """Score each `step`-th query from `first` on."""
    for query in range(first, len(entity), step):
        s, r = entity[query], relation[query]
        _fire_attributes(s, r, facts, evidence, board)
        _add_up(board, decay, weights[0], scores[query])
        _fire_likenesses(s, r, facts, evidence, board)
        _add_up(board, decay, weights[1], scores[query])
        _fire_paths(s, r, facts, evidence, board)
        _add_up(board, decay, weights[2], scores[query])


@compiled()
def _fire_attributes(s, r, facts, evidence, board):  # pragma: no cover - compiled
    """r(X, c) <- r'(X, c') with X = s: what the entity of the query has tells which c it has too."""
    n_relations = (len(facts.blocks) - 1) // 2
    reciprocal = r - n_relations if r >= n_relations else r + n_relations
    first, last = facts.blocks[reciprocal], facts.blocks[reciprocal + 1]
    for i in range(facts.at[s], facts.at[s + 1]):
        rule, end = evidence.by_body[facts.attributes[i]], evidence.by_body[facts.attributes[i] + 1]
        rule += np.searchsorted(evidence.head[rule:end], first)
        while rule < end and evidence.head[rule] < last:
            _note(board, facts.entity[evidence.head[rule]], evidence.of_body[rule])
            rule += 1


@compiled()
def _fire_likenesses(s, r, facts, evidence, board):  # pragma: no cover - compiled
    """r(s, X) <- r'(X, c'): who has what the known answers of the query have is an answer too."""
    attribute = _find(facts, s, r)
    if attribute >= 0:
        for rule in range(evidence.by_head[attribute], evidence.by_head[attribute + 1]):
            body = evidence.body[rule]
            for i in range(facts.offsets[body], facts.offsets[body + 1]):
                _note(board, facts.members[i], evidence.of_head[rule])


@compiled()
def _fire_paths(s, r, facts, evidence, board):  # pragma: no cover - compiled
    """r(X, Y) <- r1(X, Z), r2(Z, Y) with X = s."""
    for rule in range(evidence.by_relation[r], evidence.by_relation[r + 1]):
        for i in range(_follow(s, evidence.path[rule], facts, board)):
            _note(board, board.ends[i], evidence.of_path[rule])


@compiled()
def _follow(s, path, facts, board):  # pragma: no cover - compiled
    """How many entities simple paths of these relations lead to; `board.ends` has them, each once."""
    board.tick[0] += 1
    length = (path >= 0).sum()
    node, place, stop = np.empty((3, length), np.int64)
    n, depth, end = 0, -1, s
    while True:
        attribute = _find(facts, end, path[depth + 1])
        if attribute >= 0:  # step on from `end`
            depth += 1
            node[depth], place[depth], stop[depth] = end, facts.offsets[attribute], facts.offsets[attribute + 1]
        while depth >= 0:
            if place[depth] == stop[depth]:  # step back
                depth -= 1
                continue
            end = facts.members[place[depth]]
            place[depth] += 1
            if end in node[: depth + 1]:
                continue
            if depth + 1 < length:
                break
            if board.stamp[end] != board.tick[0]:
                board.stamp[end] = board.tick[0]
                board.ends[n] = end
                n += 1
        if depth < 0:
            return n


@compiled()
def _find(facts, entity, relation):  # pragma: no cover - compiled
    """The attribute ⟨entity, relation⟩, or -1 if nobody has it."""
    first, last = facts.blocks[relation], facts.blocks[relation + 1]
    place = first + np.searchsorted(facts.entity[first:last], entity)
    return place if place < last and facts.entity[place] == entity else -1


@compiled()
def _note(board, entity, evidence):  # pragma: no cover - compiled
    """Put a piece of evidence where it belongs among the best ones of an entity."""
    best = board.best[entity]
    if best[0] == 0:
        board.touched[board.seen[0]] = entity
        board.seen[0] += 1
    place = len(best) - 1
    if evidence > best[place]:
        while place > 0 and best[place - 1] < evidence:
            best[place] = best[place - 1]
            place -= 1
        best[place] = evidence


@compiled()
def _add_up(board, decay, weight, scores):  # pragma: no cover - compiled
    """Add weight · Σ decayⁱ · evidence of the i-th best rule to each entity's score; the board is clean again."""
    for entity in board.touched[: board.seen[0]]:
        total, share = 0.0, 1.0
        for i in range(board.best.shape[1]):
            total += share * board.best[entity, i]
            share *= decay
            board.best[entity, i] = 0
        scores[entity] += weight * total
    board.seen[0] = 0
