"""What is cleared away when a process ends, also when it does not wait for Python to take itself apart."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

_last = ExitStack()


def temporary_folder(prefix: str) -> Path:
    """A new folder that is gone when the process ends."""
    return Path(_last.enter_context(TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)))


def clear_away() -> None:
    """Remove every such folder now; whoever ends a process by `os._exit` calls it first."""
    _last.close()


atexit.register(clear_away)
