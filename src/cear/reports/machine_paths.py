"""Texts without the paths of the machine they were written on: records travel, home folders do not."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def clean_command(arguments: Sequence[str] | None = None) -> str:
    """The command line that is running, as a reader would type it.

    >>> clean_command(["/opt/tools/bin/cear", "run", "x.yaml", "stage1.lr=[1, 2]", "--out", "runs/x"])
    "cear run x.yaml 'stage1.lr=[1, 2]' --out runs/x"
    """
    program, *rest = sys.argv if arguments is None else arguments
    return f"{_program(program)} {shlex.join(clean_text(argument) for argument in rest)}".rstrip()


def _program(program: str) -> str:
    """How one calls what runs: an installed command, a module, or a script."""
    path = Path(program)
    if path.name == "__main__.py":
        return f"python -m {path.parent.name}"
    return f"python {clean_text(program)}" if path.suffix == ".py" else path.name


def clean(value: Any) -> Any:
    """A value of JSON in which every text is clean."""
    if isinstance(value, Mapping):
        return {key: clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean(each) for each in value]
    return clean_text(str(value)) if isinstance(value, str | Path) else value


def clean_text(text: str) -> str:
    """A text that is an absolute path, or `key=` and one, with the path made short; any other text as it is."""
    key, equals, value = text.rpartition("=")
    return f"{key}{equals}{_short(value)}"


def _short(text: str) -> str:
    """A path relative to the working folder when inside it, otherwise its last part."""
    try:
        path = Path(text).expanduser()
        if not _is_of_this_machine(path):
            return text
    except (OSError, RuntimeError, ValueError):  # too long, no such home, a zero byte: not a path
        return text
    for folder in (Path.cwd(), Path.cwd().resolve()):
        if path.is_relative_to(folder):
            return str(path.relative_to(folder))
    return path.name


def _is_of_this_machine(path: Path) -> bool:
    """Whether this is an absolute path of this file system; `/people/person/gender` is a relation."""
    if not path.is_absolute() or path == Path(path.anchor):
        return False
    here = path.is_relative_to(Path.home()) or path.is_relative_to(Path.cwd())
    return here or path.exists() or (path.parent != Path(path.anchor) and path.parent.exists())
