"""What a client of the protocol sends, and the candidates that it gets, as the protocol's JSON schemas have it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, WithJsonSchema, model_validator
from pydantic.config import JsonDict

from cear.serving.models import Shape

Strictness = Literal["any", "should", "all"]

_TOLERANT = ConfigDict(frozen=True, extra="ignore", strict=True, use_attribute_docstrings=True, allow_inf_nan=False)
"""The protocol refuses unknown keys in a query, and nowhere else."""


class Reconciled(BaseModel):
    """A value that is an entity already."""

    model_config = _TOLERANT

    id: str
    name: str = ""


Value = str | float | bool | Reconciled


class Constraint(BaseModel):
    """What an entity should have as a value of a property."""

    model_config = _TOLERANT

    pid: str = Field(examples=["located_in_country"])
    """The id of the property: of a relation, or behind ^ of one that is asked from object to subject."""
    v: Value | list[Value] = Field(examples=["Germany"])

    @property
    def values(self) -> list[Value]:
        """The values, also where there is one."""
        return self.v if isinstance(self.v, list) else [self.v]


_NOT_EMPTY: JsonDict = {
    "anyOf": [{"required": ["query"]}, {"required": ["properties"], "properties": {"properties": {"minItems": 1}}}]
}


class Query(Shape):
    """What is to be matched with an entity."""

    model_config = ConfigDict(strict=True, json_schema_extra=_NOT_EMPTY)

    query: str = Field("", examples=["Munich"])
    """Its name."""
    type: str | list[str] = ""
    """A type that it has, or several."""
    limit: float = 10
    """How many candidates at most."""
    properties: list[Constraint] = Field(default_factory=list)
    type_strict: Strictness = "should"
    """`any`: has at least one of the types; `all`: has all; `should`: better one that has."""

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if "query" not in self.model_fields_set and not self.properties:
            raise ValueError("a query needs a `query`, or `properties` that are not empty")
        return self

    @property
    def types(self) -> list[str]:
        """The types, also where there is one or none."""
        return [kind for kind in (self.type if isinstance(self.type, list) else [self.type]) if kind]


Batch = dict[str, Query]
"""Queries by the keys under which their results are returned."""
BATCH: TypeAdapter[Batch] = TypeAdapter(Batch)


def _also_as_text(pattern: str, **number: float) -> WithJsonSchema:
    """How a number is told of that OpenRefine sends as text."""
    return WithJsonSchema({"anyOf": [{"type": "number", **number}, {"type": "string", "pattern": pattern}]})


Count = Annotated[float, Field(ge=0, strict=False), _also_as_text("^[0-9]{0,6}$", minimum=0)]
Share = Annotated[
    float, Field(ge=0, le=1, strict=False), _also_as_text(r"^(0|1|0?\.[0-9]{1,6})?$", minimum=0, maximum=1)
]


class Choices(BaseModel):
    """What a user chose for a column; what she left empty is as if it were not there."""

    model_config = _TOLERANT

    limit: Count = 0
    """Known values at most; 0 for all."""
    predicted: Count = 0
    """Values at most that are not known, but likely; 0 for none."""
    min_probability: Share = 0.5
    """How probable a predicted value is at least."""

    @model_validator(mode="before")
    @classmethod
    def _without_empty_fields(cls, values: Any) -> Any:
        return {name: value for name, value in values.items() if value != ""} if isinstance(values, dict) else values


class Wanted(BaseModel):
    """A column: the values of a property."""

    model_config = _TOLERANT

    id: str
    settings: Choices = Choices()


class Extension(BaseModel):
    """Which values of which entities are wanted."""

    model_config = _TOLERANT

    ids: list[str]
    properties: list[Wanted]


EXTENSION: TypeAdapter[Extension] = TypeAdapter(Extension)


class Kind(Shape):
    """A type of an entity."""

    id: str
    name: str


class Feature(Shape):
    """A part of a score, from 0 to 100."""

    id: str
    value: float


class Candidate(Shape):
    """An entity that a query may mean."""

    id: str
    name: str
    score: float
    """From 0 to 100; see docs/openrefine.md."""
    match: bool = False
    """Whether it is surely what is meant."""
    type: list[Kind]
    features: list[Feature]
    """What the score is made of."""
    description: str | None = None
