"""Requests that may fail: each is tried a bounded number of times, and then given up with a sentence."""

from __future__ import annotations

import errno
import logging
import random
import time
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from cear.core.errors import CearError, StoreError
from cear.core.reading import in_words
from cear.steps.address import Address

log = logging.getLogger("cear.steps")

T = TypeVar("T")

_ANSWERS = (
    FileNotFoundError,
    FileExistsError,
    NotImplementedError,
    CearError,
)  # no failures: trying again would give the same
_NOBODY = ("NoCredentialsError", "PartialCredentialsError")  # of botocore, which need not be installed


class Damaged(CearError):
    """What is kept at an address is not what was written there."""


class Arrivals:
    """What a request brought that was wrong: different each time it was damaged on its way, twice the same it is so."""

    def __init__(self, what: str) -> None:
        self._what, self._seen = what, set[str]()

    def refuse(self, digest: str) -> NoReturn:
        """Raise `Damaged` for what has come before, and an error that is tried again for the rest."""
        if digest in self._seen:
            raise Damaged(f"{self._what} is not what was written")
        self._seen.add(digest)
        raise OSError(errno.EIO, "it arrived damaged")


def tried(address: Address, what: str, request: Callable[[], T]) -> T:
    """What a request gives; whatever fails is tried again after a pause, and told as a `StoreError` in the end."""
    patience = address.patience
    for number in range(1, patience.tries + 1):
        try:
            return request()
        except Exception as error:  # every library has errors of its own for a request that failed
            _raise_answer(address, what, error)
            if number == patience.tries:
                raise StoreError(
                    f"{address} could not be asked to {what}: {number} tries failed, the last with: {_words(error)}. "
                    "What is made is kept on this machine. See whether the address and the network are as they should "
                    "be, and run the same command again: it goes on."
                ) from error
            log.debug("%s: try %d to %s failed: %s", address, number, what, _words(error))
            time.sleep(patience.pause * 2 ** (number - 1) * random.uniform(0.5, 1.0))
    raise AssertionError("a patience has at least one try")


def _raise_answer(address: Address, what: str, error: Exception) -> None:
    """Raise what is an answer, and no failure of a request."""
    if isinstance(error, _ANSWERS):
        raise error
    if _code(error) in ("PreconditionFailed", "412"):
        raise FileExistsError(what) from error
    if _code(error) in ("NotImplemented", "501"):
        raise NotImplementedError(what) from error
    if isinstance(error, PermissionError) or type(error).__name__ in _NOBODY:
        raise StoreError(
            f"{address} refuses to {what}: {_words(error)}. Check the credentials and what they may do (on S3: "
            "ListBucket, GetObject, PutObject, DeleteObject), or name a folder with --store."
        ) from error


def _code(error: BaseException) -> str | None:
    """The code of S3 behind an error, if there is one."""
    response: Any = getattr(error.__cause__ or error, "response", None)
    return response.get("Error", {}).get("Code") if isinstance(response, dict) else None


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it took too long"
    return in_words(error)
