"""What requests and responses look like, with examples: the OpenAPI document is made of these."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from cear.core.types import Split
from cear.data import Vocabulary

Responses = dict[int | str, dict[str, Any]]


class Shape(BaseModel):
    """Any of them: frozen, a docstring per field, and strict about what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


class Named(Shape):
    """An entity or a relation."""

    id: str = Field(examples=["Q90"])
    name: str = Field(examples=["Paris"])

    @classmethod
    def of(cls, vocabulary: Vocabulary, number: int, **more: object) -> Self:
        """That of a number."""
        return cls(id=vocabulary.id(number), name=vocabulary.name(number), **more)


class Described(Named):
    """An entity with what the data says about it."""

    description: str | None = None


class NamedFact(Shape):
    """A fact, each of its parts with id and name."""

    subject: Named
    relation: Named
    object: Named


class Failure(Shape):
    """What went wrong, and what to do about it."""

    error: str = Field(examples=["No entity is called 'Pariss'. Did you mean 'Paris'?"])


class AskedFact(Shape):
    """A question: the part that is asked for is null."""

    subject: Named | None
    relation: Named
    object: Named | None


class AnswerShape(Described):
    """An entity proposed for a question."""

    probability: float | None
    """That it is true; null where the run is not calibrated, and for what a training fact says."""
    known: Split | None
    """The split that has this fact already."""
    rank: int
    """Among those that no training fact has told already; 0 for one that it has."""
    stage1_rank: int
    """Its place before re-ranking; 0 where Stage 1 did not look that far."""
    score: float | None
    """By the last stage."""


class Answers(Shape):
    """The answers of a question: what training facts say, then the best others in their order."""

    question: AskedFact
    answers: list[AnswerShape]


class JudgedFact(NamedFact):
    """A fact with how likely it is."""

    probability: float | None
    known: Split | None
    note: str | None
    """That an end of it is unknown to the knowledge base, where it is: it is judged by its text alone."""
    reasons: str | None


class JudgedFacts(Shape):
    """The facts of a request in their order."""

    judged: list[JudgedFact]


class RuleShape(Shape):
    """A rule that speaks for an answer."""

    sentence: str
    rule: str
    kind: str
    confidence: float
    support: int
    body_count: int
    facts: list[NamedFact]
    """Those that made it fire."""


class SimilarShape(NamedFact):
    """A known fact whose ends are like those of the fact in question."""

    similarity: float


class RivalShape(Shape):
    """Another candidate of the list, and what it does to the answer."""

    entity: Named
    log_probability: float
    answer_without: float
    effect: float
    """Above 0 where it held the answer down."""


class Why(Shape):
    """Why an answer stands where it does."""

    fact: NamedFact
    asked: Literal["subject", "object"]
    sentence: str
    rules: list[RuleShape]
    similar: list[SimilarShape]
    rivals: list[RivalShape]
    inputs: dict[str, float]
    """What each group of inputs adds to the log-probability in the list."""
    place: int
    candidates: int
    log_probability: float
    listed: bool
    known: bool


class EntityHits(Shape):
    """Entities that a text may mean, the likeliest first."""

    entities: list[Described]


class CountedRelation(Named):
    """A relation, and how many facts of it are known."""

    facts: int


class Relations(Shape):
    """Relations of the knowledge base, those with the most facts first."""

    relations: list[CountedRelation]


Name = Annotated[str, Field(min_length=1, max_length=500)]


def _whole(value: object) -> object:
    """A whole number, also where it is written as 253.0, which JSON holds for the same."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Completing(Shape):
    """Which facts to look for."""

    relations: list[Annotated[str, Field(min_length=1, max_length=500)]] | None = Field(
        None, min_length=1, max_length=500
    )
    """Only of these relations, by name or id."""
    budget: Annotated[int | None, BeforeValidator(_whole)] = Field(None, ge=1, le=10_000_000, strict=True)
    """Ask so many questions, the most promising first."""
    min_probability: float = Field(0.05, ge=0, le=1, strict=True)
    """Propose what is at least as probable."""


class JobShape(Shape):
    """A completion, and how far it is."""

    job: str
    state: Literal["running", "done", "failed", "cancelled"]
    doing: str = Field(examples=["Asking"])
    """What is being done."""
    done: int
    steps: int
    """Of how many; 0 while that is not known."""
    proposals: int | None
    """How many facts it proposes, when it is done."""
    error: str | None
    """Why it failed."""


class Status(Shape):
    """Whether the service lives, or can answer."""

    status: str = Field(examples=["ready"])


def failures(*statuses: int) -> Responses:
    """The responses of a route that may fail with these statuses: `@router.get(..., responses=failures(404, 503))`."""
    return {status: {"model": Failure, "description": _MEANING[status]} for status in statuses}


_MEANING = {
    400: "The request makes no sense; `error` says why.",
    401: "The token is missing or wrong.",
    403: "The request comes from a page or by a name that is not allowed.",
    404: "There is no such thing.",
    409: "Somebody was faster.",
    413: "The body is too large.",
    422: "A part of the request is not what it should be; `error` says which.",
    503: "Too many wait, or the service is not ready; `Retry-After` says when to come again.",
}
