"""Steps at an address that machines share, with a copy of each in a folder of this machine.

s3://bucket/prefix/retriever/3f2a…/9f86…        a file of a step, named by its SHA-256
s3://bucket/prefix/retriever/3f2a…/seal.json    which files there are: written last, so that a step is there whole or
                                                not at all
s3://bucket/prefix/retriever/3f2a…/lease.json   who is making it

A step is fetched under a temporary name, compared with its seal, and renamed: what is damaged on its way is asked for
again, and what is damaged there is told, never used, and made again.
"""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from cear.core.errors import DataError, StoreError
from cear.core.files import file_digest, partial_of, remove_leftovers
from cear.core.seals import SEAL, flaw_of, read_sealed
from cear.steps.address import Address
from cear.steps.folder import Folder
from cear.steps.kept import REPORT, Kept, look, name_of
from cear.steps.lease import Lease
from cear.steps.objects import Objects
from cear.steps.retrying import Damaged
from cear.steps.step import Step

log = logging.getLogger("cear.steps")

LEASE = "lease.json"
_POLLS = 20  # looks in the length of a lease at what another is making
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Mirror:
    """The copies that this machine has of an address: fetched when they are needed, put there when they are made."""

    def __init__(self, address: Address, *, writes: bool) -> None:
        """`writes` says whether steps may be put there."""
        self.home, self._writes = address, writes
        self._objects, self._local = Objects(address), Folder(address.claimed_mirror())
        self._shared: set[str] = set()  # keys of steps that are known to be there
        self._damaged: set[str] = set()  # and of those that are damaged there
        self._is_reached = True

    @property
    def folder(self) -> Path:
        """Where the copies are."""
        return self._local.folder

    def place(self, step: Step) -> Path:
        """Where the copy of a step is, or will be."""
        return self._local.place(step)

    def look(self, step: Step) -> Kept:
        """What there is of a step, as its report says; of one that is only at the address, the report alone is read."""
        here = self._local.look(step)
        return here if here.report is not None else self._fetch(step, [REPORT])

    def whole(self, step: Step) -> Kept:
        """A step on this machine, fetched if need be, with all its files looked at."""
        here = self._local.whole(step)
        if here.report is not None:
            self._share(step)
            return here
        there = self._fetch(step)
        if there.report is not None and here.flaw is not None:
            log.warning("%s is damaged and fetched again: %s in %s.", step.name, here.flaw, here.place)
        return here if there.report is None and there.flaw is None else there

    def apparently(self, step: Step) -> Kept:
        """A step as far as it is known without fetching it: what is sealed at the address counts as whole."""
        here = self._local.whole(step)
        if here.report is not None:
            self._share(step)
            return here
        return self._fetch(step, [REPORT]) if step.key not in self._damaged else Kept(here.place)

    @contextmanager
    def making(self, step: Step) -> Iterator[None]:
        """A block in which nobody else makes a step, as far as a lease can see to it; it may be there by then."""
        with self._local.making(step):
            lease = Lease(self._objects, f"{name_of(step)}/{LEASE}")
            is_here = self._local.whole(step).report is not None  # made by another process of this machine
            with nullcontext() if is_here or self._came_before(lease, step) else lease:
                yield

    def trust(self, step: Step) -> None:
        """The copy of a step is whole: this process knows."""
        self._local.trust(step)

    def doubt(self, step: Step) -> None:
        """Another machine may have made a step again: it is looked at anew, here and there."""
        self._local.doubt(step)
        self._damaged.discard(step.key)

    def publish(self, step: Step) -> None:
        """Put a step that is in its place here at the address: its files first, and then, if nobody has, its seal."""
        name, place = name_of(step), self.place(step)
        for file, (_, digest) in _files(place).items():
            self._objects.upload(place / file, f"{name}/{digest}")
        seal = (place / SEAL).read_bytes()
        if not self._objects.create(f"{name}/{SEAL}", seal) and step.key in self._damaged:
            self._objects.write(f"{name}/{SEAL}", seal)
        self._damaged.discard(step.key)
        self._shared.add(step.key)

    def forget(self, step: Step) -> None:
        """A step is of no more use, here or there: its seal goes first, and so all of it at once."""
        name = name_of(step)
        with _arriving(self.place(step)) as partial, suppress(Damaged):
            files = self._sealed(step, partial) or {}
            self._objects.delete(f"{name}/{SEAL}")
            for _, digest in files.values():
                self._objects.delete(f"{name}/{digest}")
        self._local.forget(step)

    def _came_before(self, lease: Lease, step: Step) -> bool:
        """Whether another machine has made a step before we had its lease; if not, we have it now."""
        is_told = False
        while not lease.take():
            if self._fetch(step).report is not None:
                return True
            if not is_told:
                log.warning("%s is making %s for %s; waiting.", lease.owner(), step.name, self.home)
                is_told = True
            time.sleep(self.home.patience.lease / _POLLS)
        if self._fetch(step).report is None:  # looked at once more: the last owner may just have ended
            return False
        lease.give_back()
        return True

    def _share(self, step: Step) -> None:
        """See to it that a step that we have is at the address, too; if it cannot be now, it will be next time."""
        if not self._writes or not self._is_reached or step.key in self._shared:
            return
        try:
            if self._is_sealed(step):
                self._shared.add(step.key)
            else:
                self.publish(step)
        except StoreError as error:
            self._is_reached = False
            log.warning("%s is on this machine, and perhaps not at %s: %s", step.name, self.home, error)

    def _fetch(self, step: Step, only: Collection[str] | None = None) -> Kept:
        """A step from the address into its place here, or some of its files, which are looked at and thrown away."""
        place = self.place(step)
        try:
            with _arriving(place) as partial:
                files = self._sealed(step, partial)
                if files is None:
                    return Kept(place)
                for file in files if only is None else only:
                    self._bring(step, partial, file, *files[file])
                kept = look(partial, step)
                if kept.report is None:
                    raise Damaged(kept.flaw or f"{REPORT} is of another step")
                if only is None:
                    _put_in_place(partial, place)
                    self._local.trust(step)
                    self._damaged.discard(step.key)
        except Damaged as error:
            self._damaged.add(step.key)
            return Kept(place, flaw=str(error), address=f"{self.home}/{name_of(step)}")
        self._shared.add(step.key)
        return replace(kept, place=place)

    def _is_sealed(self, step: Step) -> bool:
        """Whether a step is at the address; one with a damaged seal is not."""
        try:
            with _arriving(self.place(step)) as partial:
                return self._sealed(step, partial) is not None
        except Damaged:
            self._damaged.add(step.key)
            return False

    def _sealed(self, step: Step, partial: Path) -> Mapping[str, tuple[int, str]] | None:
        """The files of a step as its seal at the address names them; None where there is no such step."""
        found = self._objects.download(f"{name_of(step)}/{SEAL}", partial / SEAL, _is_seal)
        return _files(partial) if found else None

    def _bring(self, step: Step, partial: Path, file: str, size: int, digest: str) -> None:
        path = partial / file
        path.parent.mkdir(parents=True, exist_ok=True)
        name = f"{name_of(step)}/{digest}"
        if not self._objects.download(name, path, lambda path: file_digest(path) == digest, size):
            raise Damaged(f"{path.name} is not there")


def _files(folder: Path) -> dict[str, tuple[int, str]]:
    """The size and the SHA-256 of each file, as the seal in a folder says."""
    return {name: (size, digest) for name, (size, digest) in read_sealed(folder / SEAL, always=True)["files"].items()}


def _is_seal(path: Path) -> bool:
    """Whether a file is the seal of a step whose names stay inside their folder: anybody may have written it."""
    try:
        files = _files(path.parent)
        return REPORT in files and all(_is_entry(name, *known) for name, known in files.items())
    except (DataError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _is_entry(name: Any, size: Any, digest: Any) -> bool:
    return _is_inside(name) and type(size) is int and size >= 0 and _DIGEST.fullmatch(digest) is not None


def _is_inside(name: Any) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and ".." not in parts and not name.startswith("/") and "\\" not in name and ":" not in name


@contextmanager
def _arriving(place: Path) -> Iterator[Path]:
    """A new folder beside a step's place, for what is on its way; it is gone in the end, unless it was put in place."""
    place.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(place.parent)
    partial = partial_of(place)
    partial.mkdir()
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _put_in_place(partial: Path, place: Path) -> None:
    """Make a fetched step the one in its place, unless another process has put a whole one there meanwhile."""
    with suppress(OSError):
        partial.rename(place)
        return
    if flaw_of(place) is not None or not (place / REPORT).exists():
        shutil.rmtree(place, ignore_errors=True)
        partial.rename(place)
