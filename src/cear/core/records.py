"""Dataclasses that were written as JSON, read again, perhaps by another version of this package."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from cear.core.reading import unreadable

T = TypeVar("T")


def from_json(cls: type[T], values: Any, source: Path | str) -> T:
    """The dataclass that JSON values describe, each of the type of its field; `source` is named in an error.

    A field that has a default may be missing: files stay readable when a later version adds one.
    """
    if not isinstance(values, dict):
        raise unreadable(source, f"it holds {type(values).__name__}, expected the fields of {cls.__name__}")
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    needed = [name for name, field in known.items() if field.default is field.default_factory is MISSING]
    if unknown := [name for name in values if name not in known]:
        raise unreadable(source, f"no field of {cls.__name__} is called {', '.join(unknown)}")
    if missing := [name for name in needed if name not in values]:
        raise unreadable(source, f"{cls.__name__} has no {', '.join(missing)} there")
    try:
        adapter: TypeAdapter[T] = _adapter(cast(Any, cls))
        return adapter.validate_json(json.dumps(values), strict=True)  # of JSON, where a tuple is a list
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise unreadable(source, f"{where}: {first['msg']}, but found {str(first['input'])[:80]!r}") from None


@cache
def _adapter(cls: Any) -> TypeAdapter[Any]:
    return TypeAdapter(cls)
