"""New entities from a file, JSON or YAML: what a curator writes down of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field

from cear.core.bounded_yaml import Bounds, read_yaml
from cear.core.errors import AmbiguousName, CearError, DataError, UnknownName
from cear.core.settings import Settings
from cear.data import KnowledgeBase
from cear.ranking import NewEntity, with_newcomers

_BOUNDS = Bounds(size=20_000_000, values=1_000_000)  # a hundred thousand newcomers


class Entry(Settings):
    """One new entity of a file."""

    name: str = Field(min_length=1)
    """What it is called."""
    description: str | None = None
    """What it is, in some words."""
    id: str | None = None
    """Its id; null takes the name."""
    facts: tuple[tuple[str, str, str], ...] = ()
    """[subject, relation, object], by names or ids; `this`, its id or its name stands for the newcomer."""


def read_newcomers(path: Path | str, kb: KnowledgeBase) -> list[NewEntity]:
    """The new entities in a file, which `kb` does not have; relations and the other ends of facts are known to it."""
    path = Path(path)
    entries = [Entry.parse(each, source=f"{path}, new entity {i}") for i, each in enumerate(_entries(path), start=1)]
    newcomers = [NewEntity(each.id or each.name, each.name, each.description, each.facts) for each in entries]
    for entry in entries:
        _refuse_known(entry, kb, path)
    _refuse_unclear(newcomers, kb, path)
    return newcomers


def _entries(path: Path) -> list[dict[str, Any]]:
    try:
        values = read_yaml(path, _BOUNDS)  # JSON is YAML
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: {error}. Save it as UTF-8.") from None
    except yaml.YAMLError as error:
        raise DataError(f"{path} is neither JSON nor YAML: {error}") from None
    values = [values] if isinstance(values, dict) else values
    if not isinstance(values, list) or not values or not all(isinstance(each, dict) for each in values):
        raise DataError(f"{path} has no list of new entities. Write one: [{{name: …, description: …, facts: […]}}].")
    return values


def _refuse_known(entry: Entry, kb: KnowledgeBase, path: Path) -> None:
    """Refuse a name that an entity has already, unless an id says that the new one is another."""
    there = [] if entry.id is not None else kb.entities.named(entry.name)
    if there:
        ids = ", ".join(kb.entities.id(index) for index in there[:10])
        raise DataError(
            f"{path}: an entity is called {entry.name!r} already: {ids}. Ask about it by this id or, if the new one is "
            "another, give that an `id` of its own."
        )


def _refuse_unclear(newcomers: Sequence[NewEntity], kb: KnowledgeBase, path: Path) -> None:
    """Refuse names that nobody has and names that several have, and say in which file."""
    try:
        with_newcomers(kb, newcomers)
    except CearError as error:
        kind = type(error) if isinstance(error, (UnknownName, AmbiguousName)) else DataError
        raise kind(f"{path}: {error}") from None
