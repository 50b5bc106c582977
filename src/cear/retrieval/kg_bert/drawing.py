"""Facts with a part replaced at random: what a model that judges facts learns from and is measured on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cear.core.types import NO_ENTITY, SPLITS, Bools, Ints, Queries, Split
from cear.data import KnowledgeBase, KnownAnswers
from cear.evaluation import sample_facts
from cear.retrieval.kg_bert.reader import facts_of


@dataclass(frozen=True, eq=False)
class JudgedFacts:
    """Facts, and which of them are true."""

    facts: Ints  # (fact, 3)
    true: Bools  # (fact,)

    def __len__(self) -> int:
        return len(self.facts)


@dataclass(frozen=True, eq=False)
class DrawnCandidates:
    """An answer of each query among entities that were drawn at random and are no known answer of it."""

    queries: Queries
    answers: Ints  # (query,)
    entities: Ints  # (query, candidate), ascending, so that the place says nothing; `NO_ENTITY` behind them

    @classmethod
    def of(
        cls, queries: Queries, answers: Ints, known: KnownAnswers, n_entities: int, negatives: int, *, seed: int
    ) -> DrawnCandidates:
        """The answer and at most so many others; those that are known, or drawn twice, are left out."""
        rng = np.random.default_rng([seed, len(queries), negatives])
        drawn = np.sort(rng.integers(n_entities, size=(len(queries), negatives)), axis=1)
        again = np.zeros_like(drawn, bool)
        again[:, 1:] = drawn[:, 1:] == drawn[:, :-1]
        out = again | known.of_queries(queries).contains(drawn) | (drawn == answers[:, None])
        entities = np.column_stack([answers, np.where(out, n_entities, drawn)])  # what is left out sorts last
        entities.sort(axis=1)
        return cls(queries, answers, np.where(entities == n_entities, NO_ENTITY, entities))

    def judged(self, n_relations: int) -> JudgedFacts:
        """Each candidate as a fact, query by query, the answers being true."""
        row, place = np.nonzero(self.entities != NO_ENTITY)
        entities = self.entities[row, place]
        return JudgedFacts(facts_of(self.queries[row], entities, n_relations), entities == self.answers[row])


def draw_training(kb: KnowledgeBase, negatives: int, *, seed: int) -> DrawnCandidates:
    """For each training fact one of its two questions, drawn, with corruptions that no training fact states."""
    facts = len(kb.facts("train"))
    asks_head = np.random.default_rng([seed, facts]).integers(2, size=facts)
    asked = np.arange(facts) + facts * asks_head
    queries, answers = kb.queries("train")[asked], kb.gold("train")[asked]
    return DrawnCandidates.of(queries, answers, kb.known("train"), kb.n_entities, negatives, seed=seed)


def draw_held_out(
    kb: KnowledgeBase, split: Split, negatives: int, *, facts: int | None = None, seed: int
) -> DrawnCandidates:
    """Both questions of the facts of a split, or of a fixed sample, with corruptions unknown to it and those before."""
    total = len(kb.facts(split))
    which = np.arange(total) if facts is None else sample_facts(kb, split, facts, seed=seed)
    both = np.concatenate([which, which + total])
    known = kb.known(*SPLITS[: SPLITS.index(split) + 1])
    return DrawnCandidates.of(kb.queries(split)[both], kb.gold(split)[both], known, kb.n_entities, negatives, seed=seed)
