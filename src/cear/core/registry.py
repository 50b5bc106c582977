"""Plug-ins: a dictionary that one can read, and what installed packages add to it through entry points."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Annotated, Any, TypeVar, Union

from pydantic import Discriminator, Tag

from cear.core.settings import Settings

log = logging.getLogger("cear.plugins")

S = TypeVar("S", bound=Settings)


def with_installed(built_in: Mapping[str, type[S]], group: str) -> dict[str, type[S]]:
    """The plug-ins that come with us and those that installed packages name under an entry point group.

    A package cannot take a name of ours, and one that does not load is left out with a warning.
    """
    found = dict(built_in)
    for point in entry_points(group=group):
        if point.name in built_in:
            log.warning("The plug-in %s of %s is left out: %s is a name of ours.", point.value, group, point.name)
            continue
        try:
            found[point.name] = _settings(point.load())
        except Exception as error:  # a stranger's package may fail in any way, and must not stop everyone else's work
            log.warning("The plug-in %s = %s of %s was not loaded: %s", point.name, point.value, group, error)
    return found


def _settings(loaded: Any) -> Any:
    if not (isinstance(loaded, type) and issubclass(loaded, Settings)):
        raise TypeError(f"{loaded!r} is no class of settings")
    return loaded


def union_of(plugins: Mapping[str, type[Settings]], key: str, *, default: str) -> Any:
    """The type "settings of one of these", told apart by `key`; settings that do not say are those of `default`."""

    def which(values: Any) -> str:
        said = values.get(key, default) if isinstance(values, dict) else getattr(values, key, default)
        return str(said)

    tagged = tuple(Annotated[settings, Tag(name)] for name, settings in plugins.items())
    return Annotated[Union[tagged], Discriminator(which)]  # noqa: UP007 - made at run time
