"""Where a store is: a folder, or an address that machines share, such as s3://bucket/prefix."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from cear.core.ending import temporary_folder
from cear.core.errors import ConfigError
from cear.core.places import can_write
from cear.data import cache_root

_COLLAPSED = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # two letters at least: C:/ is a disk


@dataclass(frozen=True)
class Patience:
    """How long a shared store is waited for."""

    tries: int = 6
    """Of each request, before it is given up with a `StoreError`."""
    seconds: float = 30.0
    """That a request may take, beside the time for its content."""
    slowest: float = 2.0**18
    """Bytes a second: content that comes or goes more slowly counts as a failed try."""
    pause: float = 0.25
    """Seconds before the second try; each later pause is twice as long."""
    lease: float = 60.0
    """Seconds without a sign of life after which whoever makes a step is taken for dead."""


@dataclass(frozen=True)
class Address:
    """A store that machines share, by the address that `fsspec` knows it by."""

    text: str
    patience: Patience = field(default=Patience(), compare=False)

    def __post_init__(self) -> None:
        scheme, mark, rest = self.text.partition("://")
        if not mark or (not rest.strip("/") and scheme != "memory"):
            raise ConfigError(
                f"{self.text!r} is no address of a store. Give a folder, or one such as s3://bucket/steps."
            )
        if urlsplit(self.text).password is not None:
            raise ConfigError(
                f"An address of a store ({scheme}://…) holds a password, which a run would write down. Leave it out, "
                "and give it where the service looks for it, such as AWS_SECRET_ACCESS_KEY."
            )
        object.__setattr__(self, "text", f"{scheme}://{rest.rstrip('/')}")

    def __str__(self) -> str:
        return self.text

    @property
    def mirror(self) -> Path:
        """Where this machine keeps its copies; it may be deleted at any time."""
        name = re.sub(r"[^A-Za-z0-9]+", "-", self.text)[:40]
        return cache_root() / "stores" / f"{name}-{hashlib.sha256(self.text.encode()).hexdigest()[:16]}"

    @property
    def is_known(self) -> bool:
        """Whether somebody on this machine has named it as a store before."""
        return self.mirror.is_dir()

    def claimed_mirror(self) -> Path:
        """The folder of copies, made now, so that the address is known; a temporary one if it cannot be written."""
        if not can_write(self.mirror):
            return temporary_folder("cear-store-")
        self.mirror.mkdir(parents=True, exist_ok=True)
        return self.mirror


Place = Path | Address
"""Where steps are kept."""


def located(store: Path | str | Address) -> Place:
    """The folder or the address that a user names.

    >>> located("s3://bucket/steps/"), located("runs/steps").as_posix()
    (Address(text='s3://bucket/steps', ...), 'runs/steps')
    """
    if isinstance(store, Address):
        return store
    if isinstance(store, str) and "://" in store:
        return Address(store)
    if _COLLAPSED.match(text := Path(store).as_posix()):
        raise ConfigError(
            f"{text!r} has one slash where an address has two, as one has that became a Path. Give it as text: "
            "s3://bucket/…."
        )
    return Path(store)
