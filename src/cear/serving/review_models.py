"""What a review is shown as: proposals with what was decided, progress, reliability, an entity, what a run is worth."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cear.core.types import Split
from cear.serving.decisions import Decision, Verdict
from cear.serving.models import Described, Named, NamedFact, Shape

State = Literal["open", "accepted", "rejected", "skipped"]


class Proposal(NamedFact):
    """A fact that the run proposes, and what became of it."""

    place: int = Field(examples=[0])
    """Its place in the order that was asked for, from 0; decisions do not change it."""
    probability: float | None = Field(examples=[0.93])
    rank: int | None
    """Its place among the answers of its question, after the last stage."""
    stage1_rank: int | None
    """Its place in Stage 1."""
    reasons: str | None
    """Why, where the completion gave reasons; `/why` says it of any answer."""
    state: State
    decision: Decision | None
    """The last decision about it, also one that was undone; its number is what `seen` wants."""


class Proposals(Shape):
    """A page of proposals."""

    total: int
    """All that were asked for, on this page or not."""
    proposals: list[Proposal]
    after: int | None
    """The place to go on behind for the next page; null on the last."""
    note: str
    """What a reader has to know about these proposals, or how to make some."""


class Deciding(Shape):
    """A decision about a fact, by the ids of its parts."""

    subject: str = Field(min_length=1, max_length=2000)
    relation: str = Field(min_length=1, max_length=2000)
    object: str = Field(min_length=1, max_length=2000)
    verdict: Verdict = Field(examples=["accepted"])
    note: str = Field("", max_length=2000)
    who: str = Field("", max_length=200, examples=["ada"])
    id: str = Field("", max_length=100)
    """Any text that nobody else takes: sent again with the same one, a decision is kept once."""
    seen: int = Field(0, ge=0, le=2**53)
    """The number of the last decision about this fact that its maker knew of, 0 for none."""


class Conflict(Shape):
    """Somebody else has decided meanwhile."""

    error: str
    decision: Decision


class Imported(Shape):
    """How much of a log was new."""

    added: int
    read: int


class ReliabilityPoint(Shape):
    """Facts of similar probability: what was promised, and what came true."""

    said: float
    """The mean of their probabilities."""
    came_true: float
    """The share of them that is right."""
    low: float
    """Lower end of the Wilson 95 % interval of this share."""
    high: float
    count: int


class Bin(ReliabilityPoint):
    """Decided facts whose probabilities lie between two values."""

    start: float = Field(alias="from")
    end: float = Field(alias="to")


class RelationProgress(Named):
    """How far the proposals of a relation are reviewed."""

    open: int
    decided: int


class ReviewSummary(Shape):
    """How far a review is, and whether the probabilities kept their word."""

    accepted: int
    rejected: int
    skipped: int
    open: int
    """Proposals that nobody has decided about."""
    promised: float
    """How many of the accepted and rejected ones were to be right: the sum of their probabilities."""
    right: int
    """How many of these were accepted."""
    judged: int
    """How many these are: decided as right or wrong, with a probability."""
    low: float
    """Lower end of the Wilson 95 % interval of the share that is right."""
    high: float
    reliability: list[Bin]
    relations: list[RelationProgress]
    last: int
    """The number of the newest decision that counts, 0 for none: `GET /decisions?after=` goes on from there."""


class KnownFact(NamedFact):
    """A fact that the knowledge base has."""

    split: Split


class DoubtfulFact(NamedFact):
    """A fact of the knowledge base that looks wrong to models that never saw it: one of the least likely hundredth."""

    probability: float


class EntityPage(Shape):
    """An entity: what is known, what is missing and likely, what looks wrong."""

    entity: Described
    facts: list[KnownFact]
    total: int
    """All known facts of it; a page shows the first."""
    likely: list[Proposal]
    doubtful: list[DoubtfulFact] | None
    """null where no audit was made: `cear audit RUN` makes one."""


class Figure(Shape):
    """A measure with its 95 % interval."""

    stage: int
    side: str
    measure: str = Field(examples=["mrr"])
    value: float
    low: float
    high: float


class RelationFigures(Named):
    """How well a relation is known."""

    queries: int
    mrr: float
    hits_at_1: float
    hits_at_10: float
    stage1_mrr: float | None


class DataOrigin(Shape):
    """Where the facts come from."""

    name: str
    source: str
    digest: str
    entities: int
    relations: int
    facts: dict[str, int]


class StepCost(Shape):
    """What a step of the run cost."""

    name: str
    seconds: float
    cpu_seconds: float
    device: str
    date: str


class Trust(Shape):
    """What a run is worth: its figures, where they come from, what they cost. What was not measured is null."""

    run: str
    split: str | None
    queries: int | None
    figures: list[Figure] | None
    reliability: list[ReliabilityPoint] | None
    calibration_error: float | None
    """The expected calibration error of probabilities above 0.05."""
    right_of_first: dict[str, int] | None
    """How many of the first so many proposals are hidden test facts: a lower bound of those that are right."""
    relations: list[RelationFigures] | None
    data: DataOrigin
    seconds: float
    """Wall clock of all steps."""
    steps: list[StepCost]
    note: str
    """What was not measured, and how to measure it."""
