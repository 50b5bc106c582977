"""The measures of a completion: how many of the proposed facts are right, the most certain ones first.

A hidden fact that is proposed is right, anything else counts as wrong. A knowledge base lacks facts that no split
has, so every precision here is a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cear.core.errors import ConfigError, MismatchError, ScoreError
from cear.core.types import Bools, Floats, Ints, Queries, Ragged
from cear.evaluation.resampling import bootstrap_tops, percentiles

TOPS = (100, 1_000, 10_000)
PRECISIONS = (0.9, 0.8, 0.5)


@dataclass(frozen=True, eq=False)
class Proposed:
    """Facts that were proposed, each once, and what came of them; the rows may stand in any order."""

    facts: Ints  # (proposal, 3)
    scores: Floats  # (proposal,), higher is more certain
    right: Bools  # (proposal,)
    inverse: Bools  # (proposal,), whether training facts say it the other way round: an easy one
    hidden: int
    """Facts that were hidden, proposed or not."""
    hidden_easy: int = 0
    """Of these, how many training facts say the other way round."""

    def __post_init__(self) -> None:
        _refuse_other_lengths(self)
        _refuse_not_finite(self)
        _refuse_twice(self)
        _refuse_more_right_than_hidden(self)

    def __len__(self) -> int:
        return len(self.facts)

    @cached_property
    def order(self) -> Ints:
        """The rows, best first, (proposal,); equal scores go by subject, relation, object."""
        s, r, o = self.facts.T
        return np.lexsort((o, r, s, -self.scores))

    @cached_property
    def hits(self) -> Ints:
        """How many of the first n are right, for every n from 0 to all, (proposal + 1,)."""
        return np.concatenate([[0], np.cumsum(self.right[self.order])])

    def right_at(self, n: int) -> int:
        """How many of the first n are right."""
        _refuse_no_places(n)
        return int(self.hits[min(n, len(self))])

    def precision_at(self, n: int) -> float:
        """The share of the first n places that hold a right fact; a place that nobody fills is wrong."""
        return self.right_at(n) / n

    def recall_at(self, n: int) -> float:
        """The share of the hidden facts that are among the first n; 0 where none is hidden."""
        return self.right_at(n) / max(self.hidden, 1)

    @property
    def average_precision(self) -> float:
        """The mean over all hidden facts of the precision at their place; 0 for those that were not proposed."""
        places = 1 + np.flatnonzero(self.right[self.order])
        return float((self.hits[places] / places).sum() / max(self.hidden, 1))

    def facts_at_precision(self, precision: float) -> int:
        """The largest n whose first n proposals are right to at least this share; 0 if there is none."""
        places = np.arange(1, len(self) + 1)
        return 1 + int(np.flatnonzero(self.hits[1:] / places >= precision).max(initial=-1))

    def precision_intervals(
        self, tops: Sequence[int] = TOPS, *, level: float = 0.95, resamples: int = 1000, seed: int = 0
    ) -> dict[int, tuple[float, float]]:
        """The percentile-bootstrap interval of each precision at n, by drawing ⟨s, r⟩ with replacement.

        All proposals of an ⟨s, r⟩ are drawn together: what is wrong about a thing is wrong in several of its facts.
        """
        _refuse_no_places(*tops)
        if not len(self) or not tops:
            return dict.fromkeys(tops, (0.0, 0.0))
        s, r, _ = self.facts[self.order].T
        group = Queries(s, r).distinct()[1]
        right = bootstrap_tops(group, self.right[self.order], tops, resamples=resamples, seed=seed)
        low, high = percentiles(right / np.array(tops), level)
        return {n: (float(a), float(b)) for n, a, b in zip(tops, low, high, strict=True)}

    def without_easy(self) -> Proposed:
        """The proposals, and the hidden facts, that training facts do not say the other way round."""
        return self._where(~self.inverse, self.hidden - self.hidden_easy, 0)

    def by_relation(self, hidden: Ints, hidden_easy: Ints) -> dict[int, Proposed]:
        """The proposals of each relation that has some or has hidden facts.

        `hidden` and `hidden_easy` say how many facts of each relation were hidden, (relation,).
        """
        _refuse_other_counts(self, hidden, hidden_easy)
        rows = Ragged.grouped(self.facts[:, 1], np.arange(len(self)), len(hidden))
        relations = np.flatnonzero(rows.counts + hidden).tolist()
        return {r: self._where(rows.row(r), int(hidden[r]), int(hidden_easy[r])) for r in relations}

    def summary(
        self,
        tops: Sequence[int] = TOPS,
        precisions: Sequence[float] = PRECISIONS,
        *,
        level: float = 0.95,
        resamples: int = 1000,
        seed: int = 0,
    ) -> CompletionSummary:
        """Every measure, with the intervals of the precisions, unrounded."""
        intervals = self.precision_intervals(tops, level=level, resamples=resamples, seed=seed)
        return CompletionSummary(
            proposals=len(self),
            right=int(self.right.sum()),
            hidden=self.hidden,
            average_precision=self.average_precision,
            tops=tuple(Top(n, self.right_at(n), self.precision_at(n), *intervals[n], self.recall_at(n)) for n in tops),
            facts_at_precision={each: self.facts_at_precision(each) for each in precisions},
        )

    def _where(self, which: Ints | Bools, hidden: int, hidden_easy: int) -> Proposed:
        facts, scores, right, inverse = self.facts[which], self.scores[which], self.right[which], self.inverse[which]
        return Proposed(facts, scores, right, inverse, hidden, hidden_easy)


@dataclass(frozen=True)
class Top:
    """What the first n proposals are worth."""

    n: int
    right: int
    precision: float
    low: float
    """Lower end of the bootstrap interval of the precision."""
    high: float
    recall: float


@dataclass(frozen=True)
class CompletionSummary:
    """The measures of a completion, unrounded."""

    proposals: int
    right: int
    hidden: int
    average_precision: float
    tops: tuple[Top, ...]
    facts_at_precision: dict[float, int]

    def as_json(self) -> dict[str, Any]:
        """The summary as a value of JSON."""
        facts = {str(precision): n for precision, n in self.facts_at_precision.items()}
        return {**asdict(self), "tops": [asdict(top) for top in self.tops], "facts_at_precision": facts}


def _refuse_no_places(*tops: int) -> None:
    if min(tops, default=1) < 1:
        raise ConfigError(f"The first {min(tops)} proposals were asked for; expected 1 or more.")


def _refuse_other_counts(proposed: Proposed, hidden: Ints, hidden_easy: Ints) -> None:
    counted, expected = (int(hidden.sum()), int(hidden_easy.sum())), (proposed.hidden, proposed.hidden_easy)
    relations = 1 + int(proposed.facts[:, 1].max(initial=-1))
    if counted != expected or not relations <= len(hidden) == len(hidden_easy):
        raise MismatchError(
            f"{counted[0]} hidden facts of {len(hidden)} relations were counted, {counted[1]} easy ones of "
            f"{len(hidden_easy)}; the proposals have {expected[0]} hidden facts, {expected[1]} of them easy, and "
            f"relations up to number {relations - 1}. Count the same hidden facts, for every relation that there is."
        )


def _refuse_other_lengths(proposed: Proposed) -> None:
    shapes = [part.shape for part in (proposed.facts, proposed.scores, proposed.right, proposed.inverse)]
    n = len(proposed.facts)
    if shapes != [(n, 3), (n,), (n,), (n,)]:
        raise MismatchError(
            f"The facts, scores, right and inverse of proposals have the shapes {shapes}; expected (proposal, 3) and "
            "three of (proposal,)."
        )


def _refuse_not_finite(proposed: Proposed) -> None:
    bad = ~np.isfinite(proposed.scores)
    if bad.any():
        row = int(bad.argmax())
        raise ScoreError(
            f"The score of the proposed fact {_told(proposed.facts[row])} is {proposed.scores[row]}; {bad.sum()} of "
            f"{len(bad)} cannot be sorted. Leave out what has no score."
        )


def _refuse_twice(proposed: Proposed) -> None:
    ordered = proposed.facts[np.lexsort(proposed.facts.T)]
    again = (ordered[1:] == ordered[:-1]).all(axis=1)
    if again.any():
        raise ScoreError(
            f"The fact {_told(ordered[1:][again][0])} is proposed twice. Merge what was found from its subject with "
            "what was found from its object: a right fact must not count two times."
        )


def _refuse_more_right_than_hidden(proposed: Proposed) -> None:
    easy = int((proposed.right & proposed.inverse).sum())
    other = int(proposed.right.sum()) - easy
    if easy > proposed.hidden_easy or other > proposed.hidden - proposed.hidden_easy:
        raise MismatchError(
            f"{easy + other} proposals are right, {easy} of them easy, but only {proposed.hidden} facts were hidden, "
            f"{proposed.hidden_easy} of them easy. Count all hidden facts, and the easy ones by the rule for `inverse`."
        )


def _told(fact: Ints) -> str:
    s, r, o = fact.tolist()
    return f"⟨{s}, {r}, {o}⟩"
