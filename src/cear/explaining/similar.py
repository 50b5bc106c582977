"""Known facts that are like a given one, by what is known of their ends."""

from __future__ import annotations

import numpy as np

from cear.core.types import Bools, Floats, Ints, Ragged
from cear.data import KnowledgeBase, cardinalities
from cear.explaining.reasons import SimilarFact


class SimilarFacts:
    """Finds training facts ⟨s', r, o'⟩ that are like ⟨s, r, o⟩: s' like s, and o' like o.

    Two entities are alike by the share of their attributes, ⟨relation, entity at its other end⟩, that both have. One
    that n entities have weighs 1 / log(1 + n), as in Adamic and Adar (2003): what many have says little.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        known = kb.known("train")
        self._attributes, self._members = known.queries, known.answers
        self._of_entity = Ragged.grouped(self._members.values, self._members.rows, kb.n_entities)
        self._weights = 1 / np.log1p(self._members.counts)
        self._totals = np.bincount(
            self._members.values, self._weights[self._members.rows], minlength=kb.n_entities
        )  # (entity,), the weight of all that each has
        facts = kb.facts("train")
        self._facts = Ragged.grouped(facts[:, 1], np.arange(len(facts)), kb.n_relations)
        self._kb, self._shapes = kb, cardinalities(facts)

    def of(self, s: int, r: int, o: int, n: int) -> tuple[SimilarFact, ...]:
        """The n training facts that are most like ⟨s, r, o⟩, which does not count itself; none that is not alike."""
        facts = self._kb.facts("train")[self._facts.row(r)]
        reciprocal = r + self._kb.n_relations
        like_s, like_o = self._likeness(s, (o, reciprocal)), self._likeness(o, (s, r))
        likeness = like_s[facts[:, 0]] * like_o[facts[:, 2]] * self._may_support(facts, s, r, o)
        best = np.argsort(-likeness, kind="stable")[:n]
        found = ([*facts[i].tolist(), float(likeness[i])] for i in best if likeness[i] > 0)
        return tuple(SimilarFact(subject, r, other, like) for subject, _, other, like in found)

    def _may_support(self, facts: Ints, s: int, r: int, o: int) -> Bools:
        """Whether a fact can speak for ⟨s, r, o⟩: where one subject has one object, its other object speaks against."""
        shape = self._shapes.get(r, "n-n")
        same_s, same_o = facts[:, 0] == s, facts[:, 2] == o
        conflicts = (same_s & shape.endswith("1")) | (same_o & shape.startswith("1"))
        return np.asarray(~conflicts & ~(same_s & same_o))

    def _likeness(self, entity: int, besides: tuple[int, int]) -> Floats:
        """The weighted share of common attributes with every entity, (entity,); 1 with itself.

        `besides` is the attribute that the fact in question gives: it must not be its own reason.
        """
        has = self._of_entity.row(entity)
        same = (self._attributes.entity[has] == besides[0]) & (self._attributes.relation[has] == besides[1])
        has = has[~same]
        members, weights = self._members.take(has), self._weights[has]
        common = np.bincount(members.values, weights[members.rows], minlength=self._kb.n_entities)
        either = weights.sum() + self._totals - common
        likeness: Floats = common / np.where(either > 0, either, 1)
        likeness[entity] = 1
        return likeness
