"""Names that become parts of paths: what a user or a stranger's file names is checked before it leads anywhere."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from cear.core.errors import ConfigError, DataError

IDENTIFIER = r"^[A-Za-z][A-Za-z0-9_-]*$"
LONGEST = 64  # characters of an identifier


def identifier(name: str, what: str) -> str:
    """The name itself if it is an identifier, which no system takes for a path; `what` says in an error whose it is.

    >>> identifier("retriever-complex", "kind of step")
    'retriever-complex'
    """
    if len(name) > LONGEST or not re.fullmatch(IDENTIFIER, name):
        raise ConfigError(
            f"{name[:LONGEST]!r} cannot be the name of a {what}, for it becomes part of a path. Take a letter and then "
            f"up to {LONGEST - 1} letters, digits, - and _."
        )
    return name


def beside(file: Path, name: Any) -> Path:
    """The path of another file in the folder of `file`, which names it; a name that leads elsewhere is refused.

    >>> beside(Path("scorers/scorer.json"), "entities.txt").as_posix()
    'scorers/entities.txt'
    """
    if not isinstance(name, str) or not _is_plain(name):
        raise DataError(
            f"{file} names {str(name)[:LONGEST]!r}; expected the name of a file beside it, without a folder."
        )
    return file.parent / name


def _is_plain(name: str) -> bool:
    """Whether a text is the name of a file, and no path, on every system."""
    named = PurePosixPath(name).name == name and PureWindowsPath(name).name == name
    return named and name not in ("", "..") and "\0" not in name
