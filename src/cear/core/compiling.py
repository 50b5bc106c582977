"""Compiled loops; their machine code is kept on disk where there is a place for it, and made anew elsewhere."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import FunctionCache


class _IfItCan(FunctionCache):
    """Keeps machine code beside the source or in the user's cache; a full disk or a file cut off costs time only."""

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):
            super().save_overload(sig, data)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with suppress(Exception):
            return super().load_overload(sig, target_context)
        return None


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that compiles a function when it is first called; `options` are those of `numba.njit`."""

    def compile_later(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        with suppress(RuntimeError):  # nowhere to write: installation and home are read-only
            dispatcher._cache = _IfItCan(function)  # what `cache=True` does, with a cache of our own
        return dispatcher

    return compile_later
