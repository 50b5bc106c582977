"""The scores of `kernels` in PyTorch, for every device but the CPU: look-ups in flat arrays instead of loops.

That a rule fires for an entity is one integer, its *code*: (query · entities + entity) · rules + rank of the rule. The
rule with the most evidence has rank 0. Sorted, the distinct codes have the rules of each query and entity side by side,
each once and the best first.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from cear.core.blocks import blocks, rows_within
from cear.core.devices import tensor
from cear.core.spans import spans_within
from cear.core.types import Queries
from cear.retrieval.rules.config import RuleSettings
from cear.retrieval.rules.evidence import Evidence, Facts, Floats32

_AT_ONCE = 2**20  # look-ups made together: about 100 MB, and as much for each step of a path
_CODE = 32  # bytes that a code takes while codes are sorted


class FactsOnDevice:
    """The facts, and the attribute that ⟨entity, relation⟩ is."""

    def __init__(self, facts: Facts, device: torch.device | str) -> None:
        arrays = (tensor(values, device) for values in facts)
        self.entity, self.blocks, self.offsets, self.members, self.at, self.attributes = arrays
        self.n_entities, self.n_attributes = len(self.at) - 1, len(self.entity)
        self.n_relations = (len(self.blocks) - 1) // 2
        relation = torch.repeat_interleave(self.blocks.diff(), output_size=self.n_attributes)
        keys = relation * self.n_entities + self.entity
        nobody = keys.new_tensor([2 * self.n_relations * self.n_entities])
        self._keys = torch.cat([keys, nobody])  # ascending

    def find(self, entity: Tensor, relation: Tensor) -> tuple[Tensor, Tensor]:
        """Which of ⟨entity, relation⟩ somebody has, by number, and the attributes that they are."""
        key = relation * self.n_entities + entity
        place = torch.searchsorted(self._keys, key)
        found = (self._keys[place] == key).nonzero().squeeze(1)
        return found, place[found]


class Kind:
    """The rules of one kind: what they weigh, and what each of them is evidence of, by rank."""

    def __init__(self, evidence: Floats32, weight: float, n_entities: int, device: torch.device | str) -> None:
        self.weight, self._n_entities, self._n_rules = weight, n_entities, max(len(evidence), 1)
        self._evidence, order = tensor(evidence, device).sort(descending=True, stable=True)
        self._rank = torch.empty_like(order)  # (rule,)
        self._rank[order] = torch.arange(len(order), device=order.device)

    def codes(self, query: Tensor, entity: Tensor, rule: Tensor) -> Tensor:
        """That these rules fire for these entities as answers of these queries."""
        return (query * self._n_entities + entity) * self._n_rules + self._rank[rule]

    def add_up(self, fired: Iterator[Tensor], best: int, decay: float, scores: Tensor) -> None:
        """Add weight · Σ decayⁱ · evidence of the i-th best rule to each score, (query, entity)."""
        codes, place = self._strongest(self._gathered(fired, best, scores), best)
        cell, evidence = codes // self._n_rules, self._evidence[codes % self._n_rules]
        for i in range(best):  # a cell at most once in each round: the order of a sum does not depend on the device
            at = (place == i).nonzero().squeeze(1)
            scores.view(-1)[cell[at]] += self.weight * decay**i * evidence[at]

    def _gathered(self, fired: Iterator[Tensor], best: int, scores: Tensor) -> Tensor:
        """All codes that may count; those that do not are dropped whenever as many have come as were kept."""
        kept, waiting, n = torch.empty(0, dtype=torch.int64, device=scores.device), list[Tensor](), 0
        for codes in fired:
            waiting.append(codes)
            n += len(codes)
            if n > max(_AT_ONCE, len(kept)):
                kept, _ = self._strongest(torch.cat([kept, *waiting]), best)
                waiting, n = [], 0
        return torch.cat([kept, *waiting])

    def _strongest(self, codes: Tensor, best: int) -> tuple[Tensor, Tensor]:
        """The best rules of each query and entity, each once, and the place of each among them, from 0 on."""
        codes = torch.unique(codes)  # ascending
        cell = codes // self._n_rules
        place = torch.arange(len(cell), device=cell.device) - torch.searchsorted(cell, cell)
        among = (place < best).nonzero().squeeze(1)
        return codes[among], place[among]


class RulesOnDevice:
    """`kernels.score_queries` in PyTorch. Memory is bounded: queries, rules and facts are taken some at a time.

    Everything stands on one device. That cannot be `meta`: how many rules fire is a value, not a shape.
    """

    def __init__(self, facts: Facts, evidence: Evidence, config: RuleSettings, device: torch.device | str) -> None:
        self._facts, self._config, n = FactsOnDevice(facts, device), config, len(facts.at) - 1
        self._by_body, self._head = tensor(evidence.by_body, device), tensor(evidence.head, device).long()
        self._by_head, self._body = tensor(evidence.by_head, device), tensor(evidence.body, device).long()
        self._by_relation, self._path = tensor(evidence.by_relation, device), tensor(evidence.path, device)
        self._length = (self._path >= 0).sum(1)
        body = torch.repeat_interleave(self._by_body.diff(), output_size=len(self._head))
        self._body_and_head = body * self._facts.n_attributes + self._head  # (rule,), ascending
        self._attribute = Kind(evidence.of_body, config.weights.attribute, n, device)
        self._likeness = Kind(evidence.of_head, config.weights.likeness, n, device)
        self._paths = Kind(evidence.of_path, config.weights.path, n, device)

    def __call__(self, queries: Queries) -> Tensor:
        """The evidence for each entity as the answer of each query, (query, entity)."""
        device, n = self._head.device, self._facts.n_entities
        scores = torch.zeros(len(queries), n, device=device)
        for block in blocks(len(queries), rows_within(_CODE * self._config.best * n)):
            asked = queries[block]
            self._add(tensor(asked.entity, device), tensor(asked.relation, device), scores[block])
        return scores

    def _add(self, s: Tensor, r: Tensor, scores: Tensor) -> None:
        """Add what rules of all kinds say of a block of queries."""
        best, decay = self._config.best, self._config.decay
        self._attribute.add_up(self._fire_attributes(s, r), best, decay, scores)
        self._likeness.add_up(self._fire_likenesses(s, r), best, decay, scores)
        self._paths.add_up(self._fire_paths(s, r), best, decay, scores)

    def _fire_attributes(self, s: Tensor, r: Tensor) -> Iterator[Tensor]:
        """r(X, c) <- r'(X, c') with X = s: what the entity of the query has tells which c it has too."""
        facts = self._facts
        reciprocal = (r + facts.n_relations) % (2 * facts.n_relations)
        for query, i in _ranges(facts.at, s):
            body, wanted = facts.attributes[i], reciprocal[query]
            first, last = (
                torch.searchsorted(self._body_and_head, body * facts.n_attributes + facts.blocks[wanted + side])
                for side in (0, 1)
            )
            for which, rule in spans_within(first, last - first, _AT_ONCE):
                yield self._attribute.codes(query[which], facts.entity[self._head[rule]], rule)

    def _fire_likenesses(self, s: Tensor, r: Tensor) -> Iterator[Tensor]:
        """r(s, X) <- r'(X, c'): who has what the known answers of the query have is an answer too."""
        facts = self._facts
        query, attribute = facts.find(s, r)
        for one, rule in _ranges(self._by_head, attribute):
            for which, i in _ranges(facts.offsets, self._body[rule]):
                yield self._likeness.codes(query[one[which]], facts.members[i], rule[which])

    def _fire_paths(self, s: Tensor, r: Tensor) -> Iterator[Tensor]:
        """r(X, Y) <- r1(X, Z), r2(Z, Y) with X = s."""
        for query, rule in _ranges(self._by_relation, r):
            yield from self._follow(query, rule, s[query, None])

    def _follow(self, query: Tensor, rule: Tensor, nodes: Tensor) -> Iterator[Tensor]:
        """Where simple paths of the rules' relations lead that have come along these `nodes`, (path, node)."""
        step = nodes.shape[1] - 1
        there = self._length[rule] == step
        yield self._paths.codes(query[there], nodes[there, -1], rule[there])
        query, rule, nodes = query[~there], rule[~there], nodes[~there]
        if not len(rule):
            return
        found, attribute = self._facts.find(nodes[:, -1], self._path[rule, step])
        for one, i in _ranges(self._facts.offsets, attribute):
            end, path = self._facts.members[i], found[one]
            new = (nodes[path] != end[:, None]).all(1)  # no entity stands in a path twice
            path, end = path[new], end[new]
            yield from self._follow(query[path], rule[path], torch.cat([nodes[path], end[:, None]], 1))


def _ranges(offsets: Tensor, rows: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """For every value of these rows of a ragged table: the number of its row, and its place; in bounded parts."""
    return spans_within(offsets[rows], offsets[rows + 1] - offsets[rows], _AT_ONCE)
