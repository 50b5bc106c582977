"""Requests that fail are tried again, a bounded number of times; answers are not, and the error says what to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cear.core.errors import StoreError
from cear.steps import Address, Patience
from cear.steps.retrying import Arrivals, Damaged, tried

ADDRESS = Address("s3://bucket/steps", Patience(tries=4, pause=0.0))


class NoCredentialsError(Exception):
    """As botocore calls it."""


def failing(*errors: Exception) -> Callable[[], int]:
    """A request that fails so, and then says how often it was made."""
    left = [*errors]

    def request() -> int:
        if left:
            raise left.pop(0)
        return len(errors) + 1

    return request


def test_what_fails_is_tried_again() -> None:
    assert tried(ADDRESS, "read x", failing(OSError("a"), TimeoutError(), RuntimeError("b"))) == 4


def test_after_so_many_tries_it_is_an_error_that_names_all() -> None:
    with pytest.raises(StoreError) as caught:
        tried(ADDRESS, "read x", failing(*[OSError("first")] * 3, OSError("the disk there is gone"), OSError("never")))
    said = str(caught.value)
    assert said.startswith("s3://bucket/steps could not be asked to read x: 4 tries failed, the last with: the disk")
    assert "run the same command again" in said


@pytest.mark.parametrize("error", [FileNotFoundError("x"), FileExistsError("x"), Damaged("x")])
def test_an_answer_is_no_failure(error: Exception) -> None:
    with pytest.raises(type(error)):
        tried(ADDRESS, "read x", failing(error))


@pytest.mark.parametrize(
    "error", [PermissionError("Access Denied"), NoCredentialsError("Unable to locate credentials")]
)
def test_who_may_not_is_told_at_once_what_is_missing(error: Exception) -> None:
    with pytest.raises(StoreError, match=r"refuses to write x: (Access Denied|Unable to locate credentials)\. Check"):
        tried(ADDRESS, "write x", failing(error))


def test_the_same_wrong_content_twice_is_damage_and_other_wrong_content_is_not() -> None:
    arrivals = Arrivals("numbers")
    for digest in ("one", "two"):
        with pytest.raises(OSError, match="it arrived damaged"):
            arrivals.refuse(digest)
    with pytest.raises(Damaged, match="numbers is not what was written"):
        arrivals.refuse("one")
