"""A lock that survives its owner: an object with his name, which he renews as long as he lives.

Whoever finds it unchanged for the length of a lease takes it over. Clocks of two machines are never compared. The lock
saves work and guards nothing: steps are idempotent, and what is kept is whole whoever wins, so two owners at the same
time cost one of them his work and nobody a wrong result.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any, Self
from uuid import uuid4

from cear.core.errors import CearError
from cear.core.files import parse_json
from cear.steps.objects import Content, Objects

log = logging.getLogger("cear.steps")

_BEATS = 3  # signs of life in the length of a lease


class Lease:
    """The right to do what a name stands for. `take` asks for it once; entered, it is renewed until the block ends."""

    def __init__(self, objects: Objects, name: str) -> None:
        self._objects, self._name = objects, name
        self._lasts = objects.address.patience.lease
        self._token = uuid4().hex
        self._seen: tuple[str | None, float] = (None, 0.0)  # the tag of another's, and since when
        self._stop = threading.Event()

    def take(self) -> bool:
        """Whether it is ours now: because nobody had it, or because its owner has given no sign of life for so long."""
        if self._objects.create(self._name, self._sign()):
            return True
        there = self._objects.read(self._name)
        if there is None:  # just given back: the next call has it
            return False
        if there.tag != self._seen[0]:
            self._seen = (there.tag, time.monotonic())
        if time.monotonic() - self._seen[1] < self._lasts:
            return False
        log.warning("%s gave no sign of life for %.0f s; his work is taken over.", _owner(there), self._lasts)
        return self._objects.replace(self._name, self._sign(), there.tag)

    def owner(self) -> str:
        """Who has it, in words."""
        there = self._objects.read(self._name)
        return "nobody" if there is None else _owner(there)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.give_back()

    def give_back(self) -> None:
        """Let the next one have it, if it is still ours."""
        try:
            if self._is_ours(self._objects.read(self._name)):
                self._objects.delete(self._name)
        except CearError as error:  # it ends by itself
            log.debug("%s was not given back: %s", self._name, error)

    def _live(self) -> None:
        """Give signs of life until the work ends, or until somebody has taken it over."""
        while not self._stop.wait(self._lasts / _BEATS):
            try:
                if not self._renew():
                    log.warning("%s was taken over: the same is made twice, and the first to end is kept.", self._name)
                    return
            except CearError as error:
                log.debug("%s was not renewed: %s", self._name, error)

    def _renew(self) -> bool:
        """Whether it is still ours; then it holds a new sign of life."""
        there = self._objects.read(self._name)
        if there is None or not self._is_ours(there):
            return False
        return self._objects.replace(self._name, self._sign(), there.tag)

    def _is_ours(self, there: Content | None) -> bool:
        return there is not None and _read(there).get("token") == self._token

    def _sign(self) -> bytes:
        now = datetime.now(UTC)
        says = {
            "owner": f"process {os.getpid()} on {platform.node()}",
            "token": self._token,
            "renewed": now.isoformat(),
            "expires": (now + timedelta(seconds=self._lasts)).isoformat(),  # for people: no clock is asked
        }
        return json.dumps(says).encode()


def _read(there: Content) -> dict[str, Any]:
    """What a lease says; nothing if it is damaged, or not ours."""
    try:
        values = parse_json(there.data.decode())
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _owner(there: Content) -> str:
    return str(_read(there).get("owner", "somebody"))
