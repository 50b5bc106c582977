"""Settings: frozen, documented field by field, and unforgiving about keys that nobody reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, Tag, ValidationError

from cear.core.errors import ConfigError

S = TypeVar("S", bound="Settings")

Seed = Annotated[int, Field(ge=0, lt=2**63)]
"""Of random choices; PyTorch takes no larger one."""


class Settings(BaseModel):
    """A frozen group of settings; an unknown key is an error with the closest known one."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    renamed: ClassVar[Mapping[str, str]] = {}
    """Keys of earlier versions, and what to write instead."""

    renamed_tags: ClassVar[Mapping[str, str]] = {}
    """Values of `model` or `kind` of earlier versions, and what to write instead."""

    added_later: ClassVar[frozenset[str]] = frozenset()
    """Fields that came when results were kept already; their defaults are what was done before there was a choice."""

    def settings_key(self) -> dict[str, Any]:
        """Everything that decides a result, defaults included, as a value of JSON; kept things are found by it.

        A field of `added_later` at its default is left out, also of the groups inside: a result is found by the key
        that it was kept under.
        """
        fields = type(self).model_fields
        unchanged = {name for name in self.added_later if getattr(self, name) == fields[name].default}
        groups = {name: value.settings_key() for name in fields if isinstance(value := getattr(self, name), Settings)}
        kept = {name: value for name, value in groups.items() if name not in unchanged}
        return self.model_dump(mode="json", exclude=unchanged | groups.keys()) | kept

    @classmethod
    def parse(cls: type[S], values: dict[str, Any], *, source: str) -> S:
        """Settings from plain values; `source` says in an error where they came from."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            problems = "\n".join(f"  {_explain(cls, problem)}" for problem in error.errors())
            raise ConfigError(f"{source} is not a configuration that works:\n{problems}") from None


def _explain(root: type[BaseModel], problem: Any) -> str:
    """A problem as a sentence: where, what, and what was probably meant."""
    path = [str(part) for part in problem["loc"]]
    groups, keys = _follow(root, path if problem["type"] != "extra_forbidden" else path[:-1])
    if problem["type"] == "union_tag_invalid":
        return _no_such_tag(".".join(keys), problem["ctx"], groups)
    if problem["type"] == "value_error" and isinstance(problem["input"], dict | BaseModel):
        return ": ".join([*(".".join(keys),) * bool(keys), f"{problem['ctx']['error']}."])  # it says what it found
    if problem["type"] != "extra_forbidden":
        return f"{'.'.join(keys)}: {problem['msg']}, but found {problem['input']!r}."
    return _no_such_key(groups, keys, path[-1])


def _no_such_key(groups: Sequence[type[BaseModel]], keys: list[str], key: str) -> str:
    where = ".".join([*keys, key])
    for group in groups:
        if issubclass(group, Settings) and key in group.renamed:
            return f"{where} is called otherwise now: {group.renamed[key]}"
    known = list({field: None for group in groups for field in group.model_fields})
    close = get_close_matches(key, known, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    return f"{where}: no such setting. {hint}Known here: {', '.join(known)}."


def _no_such_tag(where: str, context: Mapping[str, Any], groups: Sequence[type[BaseModel]]) -> str:
    for group in groups:
        if issubclass(group, Settings) and context["tag"] in group.renamed_tags:
            return f"{where}: {context['tag']} is written otherwise now: {group.renamed_tags[context['tag']]}"
    tag, known = str(context["tag"]), str(context["expected_tags"]).replace("'", "").split(", ")
    close = get_close_matches(tag, known, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    return f"{where}: nothing is called {tag!r}. {hint}Known here: {', '.join(known)}."


def _follow(root: type[BaseModel], path: list[str]) -> tuple[list[type[BaseModel]], list[str]]:
    """The settings classes that a path leads to, and the path as a user writes it: without the kinds of a group."""
    groups: list[type[BaseModel]] = [root]
    tags: dict[str, type[BaseModel]] = {}
    keys: list[str] = []
    parts = iter(path)
    for part in parts:
        if part in tags:  # the kind of the group that the path has just entered
            groups, tags = [tags[part]], {}
            continue
        if keys and not groups and not part.isdigit():  # which type of a union of plain values refuses it
            continue
        keys.append(part)
        inside = [group.model_fields[part] for group in groups if part in group.model_fields]
        annotations = [annotation for field in inside for annotation in (field.annotation, *field.metadata)]
        groups = [each for annotation in annotations for each in _settings_in(annotation)]
        tags = {tag: each for annotation in annotations for tag, each in _tagged_in(annotation)}
        if any(_is_dictionary(annotation) for annotation in annotations) and (name := next(parts, None)) is not None:
            keys.append(name)
    return groups, keys


def _is_dictionary(annotation: Any) -> bool:
    return get_origin(annotation) is dict


def _settings_in(annotation: Any) -> list[type[BaseModel]]:
    """The settings classes that an annotation names: itself, or those of a union or a dictionary."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [each for argument in get_args(annotation) for each in _settings_in(argument)]


def _tagged_in(annotation: Any) -> Iterator[tuple[str, type[BaseModel]]]:
    """The tags of a union and the settings that each stands for."""
    arguments = get_args(annotation)
    tags = [argument.tag for argument in arguments if isinstance(argument, Tag)]
    for argument in arguments:
        if tags and isinstance(argument, type) and issubclass(argument, BaseModel):
            yield tags[0], argument
        yield from _tagged_in(argument)
