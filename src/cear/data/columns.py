"""Which column of a file holds which part of a fact, where the user says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import PositiveInt, StringConstraints, model_validator

from cear.core.errors import AmbiguousName, ConfigError, UnknownName
from cear.core.settings import Settings
from cear.core.shown import one_line

Column = PositiveInt | Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_SHOWN = 30  # columns that an error lists
_DIGITS = 9  # of a number that somebody types


class Columns(Settings):
    """The columns that hold a fact: each the name that the first line gives it, or its number from 1."""

    subject: Column
    """What a fact is about."""
    relation: Column
    """How its ends are related."""
    object: Column
    """What the subject is related to."""

    @property
    def names(self) -> list[str]:
        """The columns that are given by name."""
        return [column for _, column in self if isinstance(column, str)]

    @property
    def numbers(self) -> list[int]:
        """The columns that are given by number."""
        return [column for _, column in self if isinstance(column, int)]

    def places(self, there: Sequence[str], path: Path) -> dict[int, str]:
        """The part of a fact at each place, from 0, among the columns of a file; one that is missing is an error."""
        places = {_place(column, there, path): part for part, column in self}
        if len(places) < len(type(self).model_fields):
            raise ConfigError(f"{path}: columns: two of {dict(self)} are one column; give each part of a fact its own.")
        return places

    @model_validator(mode="after")
    def _each_has_its_own(self) -> Self:
        columns = [column for _, column in self]
        if len(set(columns)) < len(columns):
            raise ValueError(f"{dict(self)}: expected a column of its own for each part of a fact")
        return self


def columns_of(given: Columns | Mapping[str, Any] | None) -> Columns | None:
    """The columns that a caller of Python gives, by the parts of a fact."""
    return given if given is None or isinstance(given, Columns) else Columns.parse(dict(given), source="columns")


def parse_columns(text: str) -> Columns:
    """The columns that a user types; what is all digits is a number.

    >>> parse_columns("subject=Kopf, relation=3, object=Ende")
    Columns(subject='Kopf', relation=3, object='Ende')
    """
    values: dict[str, Any] = {}
    for pair in text.split(","):
        part, equals, column = (word.strip() for word in pair.partition("="))
        if not equals or part in values:
            raise ConfigError(f"{text!r} are no columns. Write each part once: subject=…,relation=…,object=….")
        values[part] = int(column) if column.isdecimal() and len(column) <= _DIGITS else column
    return Columns.parse(values, source=f"columns {text!r}")


def columns_override(text: str) -> str:
    """What the columns that a user types change in a configuration.

    >>> columns_override("subject=1,relation=Art,object=3")
    'columns={"subject":1,"relation":"Art","object":3}'
    """
    return f"columns={parse_columns(text).model_dump_json()}"


def _place(column: int | str, there: Sequence[str], path: Path) -> int:
    """The place, from 0, of a column among those of a file."""
    if isinstance(column, int):
        if column <= len(there):
            return column - 1
        raise UnknownName(f"{path} has no column {column}. {_told(there)}")
    named = [place for place, name in enumerate(there) if name.strip() == column]
    named = named or [place for place, name in enumerate(there) if name.strip().lower() == column.lower()]
    if len(named) > 1:
        places = " and ".join(str(place + 1) for place in named)
        raise AmbiguousName(f"{path}: the columns {places} are called {column!r}. Say which by its number.")
    if not named:
        close = get_close_matches(column, [name.strip() for name in there[:_SHOWN]], n=1)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        raise UnknownName(f"{path} has no column {column!r}. {hint}{_told(there)}")
    return named[0]


def _told(there: Sequence[str]) -> str:
    """What columns there are, in short."""
    more = ", …" if len(there) > _SHOWN else ""
    names = ", ".join(repr(one_line(name)) for name in there[:_SHOWN])
    return f"It has {len(there):,}: {names}{more}." if there else "It is empty."
