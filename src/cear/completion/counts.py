"""What training facts say of queries and entities, by counting: how many answers are known, how many are usual."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from cear.core.types import Bools, Floats, Ints, Queries
from cear.data import KnowledgeBase

QUERY_FEATURES = (
    "known answers",
    "answers that a query of this relation has on average",
    "share of such queries with one answer",
    "facts of the relation",
    "degree of the entity",
)
FACT_FEATURES = ("the other way round is known", "linked by some relation", "share of the relation that is symmetric")
LINKED = 2 * len(QUERY_FEATURES) + 1  # its place among the features of a fact


class Counts:
    """Counts over the training facts of a knowledge base, looked up for many queries or facts at a time."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self._known = kb.known("train")
        asked, answers = self._known.queries, self._known.answers.counts
        askers = np.bincount(asked.relation, minlength=2 * kb.n_relations)
        self._facts = np.bincount(asked.relation, weights=answers, minlength=2 * kb.n_relations)
        self._usual = self._facts / np.maximum(askers, 1)
        single = np.bincount(asked.relation, weights=answers == 1, minlength=2 * kb.n_relations)
        self._single = single / np.maximum(askers, 1)
        s, _, o = kb.facts("train").T
        self._degree = np.bincount(np.concatenate([s, o]), minlength=kb.n_entities)

    def of_queries(self, queries: Queries, less: Bools | None = None) -> Floats:
        """What is known of each query, (query, feature), in the order of `QUERY_FEATURES`.

        Where `less` is true, one of its answers is not counted.
        """
        one = np.zeros(len(queries), np.int64) if less is None else less.astype(np.int64)
        columns = (
            self._known.of_queries(queries).counts - one,
            self._usual[queries.relation],
            self._single[queries.relation],
            np.log1p(self._facts[queries.relation]),
            np.log1p(self._degree[queries.entity] - one),
        )
        return np.stack(columns, axis=-1).astype(np.float32)

    def of_facts(self, facts: Ints) -> Floats:
        """What is known of both ends of each fact and of the two together, (fact, feature).

        A training fact does not count itself: it is looked at as if it were not known.
        """
        s, r, o = facts.T
        itself = _among(self._keys(facts), self._fact_keys)
        of_ends = (self.of_queries(Queries(s, r), itself), self.of_queries(Queries(o, r + self.kb.n_relations), itself))
        together = (self.turned_round(facts) & (s != o), self._links(s, o) > itself, self._symmetric[r])
        return np.column_stack([*of_ends, *together]).astype(np.float32)

    def turned_round(self, facts: Ints) -> Bools:
        """Whether train holds ⟨o, r, s⟩ for each ⟨s, r, o⟩, (fact,): easy ones, of symmetric relations."""
        return _among(self._keys(facts[:, [2, 1, 0]]), self._fact_keys)

    def _links(self, s: Ints, o: Ints) -> Ints:
        """How many training facts join the two, whichever way."""
        key = self._pair_key(s, o)
        return np.searchsorted(self._pairs, key, side="right") - np.searchsorted(self._pairs, key)

    @cached_property
    def _symmetric(self) -> Floats:
        """The share of each relation's facts that train holds the other way round, too, (relation,)."""
        facts = self.kb.facts("train")
        both = np.bincount(facts[:, 1], weights=self.turned_round(facts), minlength=self.kb.n_relations)
        return both / np.maximum(np.bincount(facts[:, 1], minlength=self.kb.n_relations), 1)

    @cached_property
    def _fact_keys(self) -> Ints:
        return np.sort(self._keys(self.kb.facts("train")))

    @cached_property
    def _pairs(self) -> Ints:
        s, _, o = self.kb.facts("train").T
        return np.sort(self._pair_key(s, o))

    def _pair_key(self, s: Ints, o: Ints) -> Ints:
        return np.asarray(np.minimum(s, o) * self.kb.n_entities + np.maximum(s, o))

    def _keys(self, facts: Ints) -> Ints:
        return fact_keys(facts, self.kb)


def fact_keys(facts: Ints, kb: KnowledgeBase) -> Ints:
    """A number for each fact, (fact,), by which facts are found; they sort as subject, relation, object do."""
    s, r, o = facts.T
    return np.asarray((s * kb.n_relations + r) * kb.n_entities + o)


def facts_of_keys(keys: Ints, kb: KnowledgeBase) -> Ints:
    """The facts of these numbers, (fact, 3)."""
    rest, o = np.divmod(keys, kb.n_entities)
    s, r = np.divmod(rest, kb.n_relations)
    return np.stack([s, r, o], axis=1)


def among(keys: Ints, facts: Ints, kb: KnowledgeBase) -> Bools:
    """Which of these keys are those of given facts, (key,)."""
    return _among(keys, np.sort(fact_keys(facts, kb)))


def _among(keys: Ints, ascending: Ints) -> Bools:
    if not len(ascending):
        return np.zeros(len(keys), bool)
    place = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return np.asarray(ascending[place] == keys)
