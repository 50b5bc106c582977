"""Every setting of the rule retriever and its default, in one place."""

from __future__ import annotations

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from cear.core.settings import Settings


class KindWeights(Settings):
    """What the three kinds of rules count; 0 turns one off."""

    attribute: NonNegativeFloat = 1.0
    """r(X, c) <- r'(X, c'), with X the entity that is asked about."""
    likeness: NonNegativeFloat = 3.0
    """r(c, X) <- r'(X, c'), with c the entity that is asked about: X has what known answers have."""
    path: NonNegativeFloat = 2.0
    """r(X, Y) <- r1(X, Z), r2(Z, Y)."""


class RuleSettings(Settings):
    """Which rules are kept, and how those that fire are put together."""

    smoothing: PositiveFloat = 5.0
    """A rule's confidence is support / (body + smoothing): a body seen a few times proves little."""
    min_support: PositiveInt = 2
    """Times that a rule must have been right to be kept."""
    min_confidence: float = Field(default=0.01, ge=0, lt=1)
    """What a rule's confidence must reach to be kept."""
    direct: bool = True
    """Whether r'(X, Y) may be a reason for r(X, Y): one relation between two entities for another between the same."""
    max_rules: PositiveInt = 300
    """Attribute rules kept per head attribute, the most confident ones."""
    max_path_rules: PositiveInt = 1000
    """Path rules kept per head relation, the most confident ones."""
    max_length: NonNegativeInt = 2
    """Steps of a path rule, at most; 0 learns no path rules."""
    max_walks: PositiveInt = 1_000_000_000
    """Paths walked to learn path rules, at most; beyond that a random sample of the entities starts them."""
    best: PositiveInt = 10
    """How many of the rules of one kind that fire for a candidate count, the most confident ones."""
    decay: float = Field(default=0.5, gt=0, le=1)
    """What each next rule counts less: 1 is noisy-or, near 0 compares the best rules, then the second best, …"""
    weights: KindWeights = KindWeights()
    frequency: NonNegativeFloat = 1e-3
    """Weight of an entity's share of all answers of the relation: orders those for which no rule fires."""
