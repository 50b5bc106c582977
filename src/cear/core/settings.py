"""Settings: frozen, documented field by field, and unforgiving about keys that nobody reads."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from cear.core.errors import ConfigError

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
    known = list({field: None for group in _groups(root, path[:-1]) for field in group.model_fields})
    close = get_close_matches(path[-1], known, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    return f"{key}: no such setting. {hint}Known here: {', '.join(known)}."


def _groups(root: type[BaseModel], path: list[str]) -> list[type[BaseModel]]:
    """The settings classes that a path leads to: settings, names in a dictionary, and kinds of a group."""
    groups, parts = [root], iter(path)
    for part in parts:
        inside = [group.model_fields[part].annotation for group in groups if part in group.model_fields]
        if not inside:
            groups = [group for group in groups if group.model_fields["kind"].default == part]
            continue
        groups = [each for annotation in inside for each in _settings_in(annotation)]
        if any(get_origin(annotation) is dict for annotation in inside):
            next(parts, None)
    return groups


def _settings_in(annotation: Any) -> list[type[BaseModel]]:
    """The settings classes that an annotation names: itself, or those of a union or a dictionary."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [each for argument in get_args(annotation) for each in _settings_in(argument)]
