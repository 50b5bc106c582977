"""Named bytes at an address, read and written with conditions. fsspec is imported here and nowhere else.

On S3 a condition goes with the request (If-None-Match, If-Match), so that of several who create or replace the same
name one succeeds. Without conditions a name is looked at first, and two who come in the same moment may both believe
that they were the first. What is no S3 is written by a temporary name and a rename: each name is there whole or not.
"""

from __future__ import annotations

import errno
import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

from cear.core.errors import ConfigError, DiskError, StoreError
from cear.core.files import file_digest
from cear.core.reading import in_words
from cear.steps.address import Address
from cear.steps.retrying import Arrivals, tried

log = logging.getLogger("cear.steps")

_S3 = ("s3", "s3a")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_CONNECT = 10.0  # seconds to reach a service at all


@dataclass(frozen=True)
class Content:
    """What a name held when it was read."""

    data: bytes
    tag: str
    """Another one whenever the name is written."""


class Objects:
    """The names of an address. Every request is bounded in time, tried again when it fails, and given up in the end."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._takes_conditions = self._is_s3

    def read(self, name: str) -> Content | None:
        """What a small object holds; None where it is not there."""
        path = self._path(name)

        def request() -> Content:
            about = self._call("info", path)  # first: a tag that is too old is refused by whoever compares it
            data: bytes = self._call("cat_file", path)
            return Content(data, about.get("ETag") or hashlib.sha256(data).hexdigest())

        try:
            return tried(self.address, f"read {name}", request)
        except FileNotFoundError:
            return None

    def create(self, name: str, data: bytes) -> bool:
        """Whether a small object is there with this content, because we were the first to write it."""
        if (written := self._written_if(name, data, mode="create")) is not None:
            return written
        there = self.read(name)
        if there is None:
            self.write(name, data)
        return there is None or there.data == data

    def replace(self, name: str, data: bytes, tag: str) -> bool:
        """Whether a small object holds this content, because nobody has written it since it had this tag."""
        if (written := self._written_if(name, data, IfMatch=tag)) is not None:
            return written
        there = self.read(name)
        if there is not None and there.tag == tag:
            self.write(name, data)
            return True
        return there is not None and there.data == data

    def write(self, name: str, data: bytes) -> None:
        """Write a small object, whatever it held."""
        self._put(name, lambda path: self._call("pipe_file", path, data))

    def upload(self, file: Path, name: str) -> None:
        """Write an object with the content of a file, whatever it held."""
        size = file.stat().st_size
        self._put(name, lambda path: self._call("put_file", str(file), path, size=size))

    def download(self, name: str, file: Path, is_right: Callable[[Path], bool], size: int = 0) -> bool:
        """Whether an object was there and is now in a file; what arrives is no other than the right one.

        Wrong content is asked for again; what is wrong twice in the same way is `Damaged`.
        """
        path, arrivals = self._path(name), Arrivals(file.name)

        def request() -> None:
            try:
                self._call("get_file", path, str(file), size=size)
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                raise DiskError(
                    f"{file} could not be written: {in_words(error)}. Make room, and run it again."
                ) from error
            if not is_right(file):
                arrivals.refuse(file_digest(file))

        try:
            tried(self.address, f"read {name}", request)
        except FileNotFoundError:
            return False
        return True

    def delete(self, name: str) -> None:
        """Delete an object; one that is not there is no error."""
        try:
            tried(self.address, f"delete {name}", lambda: self._call("rm_file", self._path(name)))
        except FileNotFoundError:
            return

    def _written_if(self, name: str, data: bytes, **condition: Any) -> bool | None:
        """Whether a service took content under a condition; None if it knows no conditions."""
        if not self._takes_conditions:
            return None
        path = self._path(name)
        try:
            tried(self.address, f"write {name}", lambda: self._call("pipe_file", path, data, **condition))
        except NotImplementedError:
            self._takes_conditions = False
            log.warning("%s knows no conditional requests: two machines may make the same step.", self.address)
            return None
        except FileExistsError:  # perhaps by an earlier try of ours, whose answer was lost
            there = self.read(name)
            return there is not None and there.data == data
        except FileNotFoundError as error:
            if "IfMatch" in condition:
                return False
            raise self._nowhere(name, error) from error
        return True

    def _put(self, name: str, send: Callable[[str], object]) -> None:
        """Write by one request where that is whole or not at all, elsewhere by a temporary name and a rename."""
        path = self._path(name)

        def by_rename() -> None:
            partial = f"{path}.{uuid4().hex}.partial"
            self._filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
            send(partial)
            self._filesystem.mv(partial, path)

        try:
            tried(self.address, f"write {name}", (lambda: send(path)) if self._is_s3 else by_rename)
        except FileNotFoundError as error:
            raise self._nowhere(name, error) from error

    def _nowhere(self, name: str, error: Exception) -> StoreError:
        return StoreError(
            f"{self.address} is not there, so that {name} cannot be written: {error}. Make it, and try again."
        )

    def _call(self, method: str, *arguments: Any, size: int = 0, **options: Any) -> Any:
        """Call a method of the filesystem; where it can be interrupted, it has so long as its content may take."""
        if self._filesystem.async_impl:
            options["timeout"] = self.address.patience.seconds + size / self.address.patience.slowest
        return getattr(self._filesystem, method)(*arguments, **options)

    def _path(self, name: str) -> str:
        return f"{self._opened[1]}/{name}"

    @property
    def _filesystem(self) -> Any:
        return self._opened[0]

    @property
    def _is_s3(self) -> bool:
        return self.address.text.startswith(tuple(f"{each}://" for each in _S3))

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        """The filesystem of the address, and the path there."""
        try:
            from fsspec.core import url_to_fs

            filesystem, path = url_to_fs(self.address.text, **self._options())
        except (ImportError, ValueError) as error:
            raise ConfigError(
                f"{self.address} cannot be opened: {error}. A store that machines share needs pip install "
                "'cear[cluster]', and some addresses the package that fsspec names."
            ) from error
        if self._is_s3:
            filesystem.retries = 1  # who tries again is `tried`, and nobody else
            filesystem.connect()  # loads descriptions of the service for a second, which no request should be charged
        return filesystem, path.rstrip("/")

    def _options(self) -> dict[str, Any]:
        # A filesystem of our own: fsspec would hand out an earlier one, with the endpoint of the environment then.
        ours = {"use_listings_cache": False, "skip_instance_cache": True}
        if not self._is_s3:
            return ours
        seconds = self.address.patience.seconds
        config: dict[str, Any] = {"connect_timeout": min(seconds, _CONNECT), "read_timeout": seconds}
        config["retries"] = {"total_max_attempts": 1}
        config["response_checksum_validation"] = "when_required"  # our own digest tells what is damaged, and for good
        return ours | {"config_kwargs": config}
