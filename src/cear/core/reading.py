"""What a file makes fail when it is read: one kind of error, whatever is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cear.core.errors import CearError, DataError

_FAILURES = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError)
"""What a parser, an array or a model says of values that it was not made for."""


@contextmanager
def reading(source: Path | str) -> Iterator[None]:
    """Inside, whatever a damaged or foreign file makes fail is a `DataError` that names it.

    >>> with reading("fusion.json"):
    ...     _ = {}["weights"]
    Traceback (most recent call last):
    cear.core.errors.DataError: fusion.json cannot be read: 'weights' is not there. It is damaged, ...
    """
    try:
        yield
    except CearError:
        raise
    except _FAILURES as error:
        raise unreadable(source, in_words(error)) from error


def unreadable(source: Path | str, why: str) -> DataError:
    """The error for a file that is not what we write there."""
    return DataError(
        f"{source} cannot be read: {why}. It is damaged, or another version or program has written it. Copy it again "
        "from where it is whole, or delete it and run the command that made it: it is made anew."
    )


def in_words(error: BaseException) -> str:
    """What an error says, in one line, without the path and the full stop, which the sentence around it has."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, KeyError):
        return f"{error} is not there"
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
