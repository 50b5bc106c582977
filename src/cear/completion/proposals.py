"""Proposals: facts that the answers of many questions say, those of both directions merged, each fact once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cear.completion.counts import LINKED, Counts, fact_keys, facts_of_keys
from cear.completion.views import MONOTONE, VIEW_FEATURES, Views
from cear.core.types import Bools, Floats, Ints, Queries
from cear.data import KnowledgeBase

TAIL, HEAD = 0, 1  # the view of ⟨s, r, ?⟩, and that of ⟨?, r, o⟩


@dataclass(frozen=True, eq=False)
class Proposals:
    """Facts that training facts lack, ascending by subject, relation, object, with what is known of each."""

    facts: Ints  # (fact, 3)
    views: Floats  # (fact, 2, feature): as the answer of ⟨s, r, ?⟩ and of ⟨?, r, o⟩; NaN where it was not found so
    counts: Floats  # (fact, feature): what training facts say of both ends
    ranks: Ints  # (fact, 2): its place in the final order of each list; 0 where it was not found so

    def __len__(self) -> int:
        return len(self.facts)

    def __getitem__(self, which: Ints | Bools | slice) -> Proposals:
        return Proposals(self.facts[which], self.views[which], self.counts[which], self.ranks[which])

    @classmethod
    def of(cls, queries: Queries, views: Views, counts: Counts) -> Proposals:
        """The facts of these views, each once."""
        kb = counts.kb
        facts, side = _facts(queries[views.query], views.answer, kb)
        keys, place = np.unique(fact_keys(facts, kb), return_inverse=True)
        merged = np.full((len(keys), 2, views.features.shape[1]), np.nan, np.float32)
        merged[place, side] = views.features
        ranks = np.zeros((len(keys), 2), np.int64)
        ranks[place, side] = views.rank
        distinct = facts_of_keys(keys, kb)
        return cls(distinct, merged, counts.of_facts(distinct), ranks)

    def counted(self, counts: Counts) -> Proposals:
        """The same facts with what other facts say of both ends."""
        return replace(self, counts=counts.of_facts(self.facts))

    def without_links(self) -> Proposals:
        """The same without a word on whether a training fact joins both ends."""
        counts = self.counts.copy()
        counts[:, LINKED] = 0
        return replace(self, counts=counts)

    @property
    def features(self) -> Floats:
        """What a probability is learned from, (fact, feature): both views, then counts."""
        return np.concatenate([self.views[:, TAIL], self.views[:, HEAD], self.counts], axis=1)

    @property
    def groups(self) -> Ints:
        """What stays together when proposals are dealt: those of one ⟨s, r⟩, (fact,)."""
        s, r, _ = self.facts.T
        return np.asarray(s * 2**20 + r)

    def best_view(self, feature: int) -> Floats:
        """A feature in the better of the two views, (fact,), such as a stage's score."""
        return np.fmax(self.views[:, TAIL, feature], self.views[:, HEAD, feature])


def monotone(views: int, counts: int) -> tuple[int, ...]:
    """Which features of `Proposals.features` never count against a fact, with so many features of a view and counts."""
    of_view = MONOTONE + (0,) * (views - len(VIEW_FEATURES))
    return of_view * 2 + (0,) * counts


def _facts(queries: Queries, answers: Ints, kb: KnowledgeBase) -> tuple[Ints, Ints]:
    """The facts that answers of queries say, (row, 3), and which of their two questions was asked, (row,)."""
    asks_head = kb.asks_head(queries)
    subject = np.where(asks_head, answers, queries.entity)
    object_ = np.where(asks_head, queries.entity, answers)
    facts = np.stack([subject, queries.relation % kb.n_relations, object_], axis=1)
    return facts, np.where(asks_head, HEAD, TAIL)
