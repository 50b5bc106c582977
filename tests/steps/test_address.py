"""Where a store is: a folder or an address, and never a path that was an address."""

from __future__ import annotations

from pathlib import Path

import pytest

from cear.core.errors import ConfigError
from cear.steps import Address, located


def test_a_folder_is_a_path_and_an_address_keeps_its_slashes() -> None:
    assert located("runs/steps") == located(Path("runs/steps")) == Path("runs/steps")
    assert str(located("s3://bucket/steps/")) == "s3://bucket/steps"
    assert located(Address("s3://bucket")) == Address("s3://bucket/")
    assert str(located("memory://")) == "memory://"


@pytest.mark.parametrize("text", ["s3://", "s3:///", "bucket/steps"])
def test_an_address_of_nothing_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no address of a store"):
        Address(text)


def test_an_address_that_became_a_path_is_refused_because_it_lost_a_slash() -> None:
    with pytest.raises(ConfigError, match="'s3:/bucket/steps' has one slash where an address has two"):
        located(Path("s3://bucket/steps"))
    with pytest.raises(ConfigError, match="has one slash"):
        located("s3:/bucket/steps")
    assert located("C:/steps") == Path("C:/steps")


def test_a_password_is_refused_because_a_run_would_write_it_down() -> None:
    with pytest.raises(ConfigError, match="holds a password") as caught:
        located("sftp://me:secret@host/steps")
    assert "secret" not in str(caught.value)


def test_an_address_is_known_once_somebody_has_used_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEAR_CACHE", str(tmp_path))
    address = Address("s3://bucket/steps")
    assert not address.is_known
    assert address.claimed_mirror().is_relative_to(tmp_path)
    assert address.is_known
    assert not Address("s3://bucket/other").is_known
