"""Dataclasses that were written as JSON, read again, perhaps by another version of this package."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from cear.core.errors import DataError

T = TypeVar("T")


def from_json(cls: type[T], values: Any, source: Path | str) -> T:
    """The dataclass that JSON values describe; `source` says in an error where they came from.

    A field that has a default may be missing: files stay readable when a later version adds one.
    """
    if not isinstance(values, dict):
        raise _unreadable(source, f"it holds {type(values).__name__}, expected the fields of {cls.__name__}")
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    needed = [name for name, field in known.items() if field.default is field.default_factory is MISSING]
    if unknown := [name for name in values if name not in known]:
        raise _unreadable(source, f"no field of {cls.__name__} is called {', '.join(unknown)}")
    if missing := [name for name in needed if name not in values]:
        raise _unreadable(source, f"{cls.__name__} has no {', '.join(missing)} there")
    return cls(**values)


def _unreadable(source: Path | str, why: str) -> DataError:
    return DataError(
        f"{source} cannot be read: {why}. Another version of cear has written it, or somebody has changed it. "
        "Use that version, or delete it and run the same command again: it is made anew."
    )
