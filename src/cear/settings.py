"""Settings: frozen, documented field by field, and unforgiving about keys that nobody reads."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from cear.errors import ConfigError

S = TypeVar("S", bound="Settings")


class Settings(BaseModel):
    """A frozen group of settings; an unknown key is an error with the closest known one."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    @classmethod
    def parse(cls: type[S], values: dict[str, Any], *, source: str) -> S:
        """Settings from plain values; `source` says in an error where they came from."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            problems = "\n".join(f"  {_explain(cls, problem)}" for problem in error.errors())
            raise ConfigError(f"{source} is not a configuration that works:\n{problems}") from None


def _explain(root: type[BaseModel], problem: Any) -> str:
    path = [str(part) for part in problem["loc"]]
    key = ".".join(path)
    if problem["type"] != "extra_forbidden":
        return f"{key}: {problem['msg']}, but found {problem['input']!r}."
    known = list(_group(root, path[:-1]).model_fields)
    close = get_close_matches(path[-1], known, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    return f"{key}: no such setting. {hint}Known here: {', '.join(known)}."


def _group(root: type[BaseModel], path: list[str]) -> type[BaseModel]:
    """The settings class that a dotted path leads to."""
    for part in path:
        annotation = root.model_fields[part].annotation
        assert isinstance(annotation, type)
        assert issubclass(annotation, BaseModel)
        root = annotation
    return root
