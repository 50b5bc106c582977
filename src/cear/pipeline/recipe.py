"""How another process lays out the same plan, in values of JSON: nothing else of a run travels between machines."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import torch

from cear import __version__
from cear.config import RunConfig
from cear.core.context import Context, Deadline
from cear.core.machine import code_digest
from cear.core.records import from_json
from cear.core.types import SPLITS
from cear.data import KnowledgeBase
from cear.steps import Executor, Place

FACT_BYTES = 400  # what a fact of OLPBENCH's size takes of a process, with what is known of its queries: docs/scale.md


@dataclass(frozen=True)
class Recipe:
    """The arguments of `lay_out`, or of `open_run`, and what must be the same for both to give the same plan."""

    run: str
    """The folder of the run."""
    store: str
    """Where its steps are made."""
    digest: str
    """Of the data."""
    device: str
    memory: int = 0
    """About how many bytes the data takes in every process that makes steps."""
    config: dict[str, Any] | None = None
    """None is the configuration that the finished run in the folder has."""
    source: str | None = None
    """Where the data of a finished run is, if it has moved."""
    int8: bool = False
    ranking_minutes: float | None = None
    download: bool = False
    until: float | None = None
    """When work has to stop, in seconds since 1970."""
    threads: int = field(default_factory=torch.get_num_threads)
    """Of every process that makes steps: sums depend on it."""
    folder: str = field(default_factory=os.getcwd)
    """Where relative paths start."""
    version: str = __version__
    code: str = field(default_factory=code_digest)

    @classmethod
    def of_run(
        cls, config: RunConfig, out: Path, store: Place, kb: KnowledgeBase, context: Context, **rest: Any
    ) -> Self:
        """That of a run which is being made."""
        values = config.model_dump(mode="json") | {"device": context.device}
        until = _wall_clock(context.deadline)
        return cls(str(out), _told(store), *_of_data(kb, context), config=values, until=until, **rest)

    @classmethod
    def of_finished(cls, run: Path, store: Place, kb: KnowledgeBase, context: Context, **rest: Any) -> Self:
        """That of a finished run."""
        return cls(str(run.absolute()), _told(store), *_of_data(kb, context), **rest)

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """The recipe that `as_json` gave."""
        return from_json(cls, values, "the recipe of a run")

    def as_json(self) -> dict[str, Any]:
        """The recipe as a value of JSON."""
        return asdict(self)

    @property
    def minutes_left(self) -> float | None:
        """How long work may go on by the clock of this machine; None for as long as it takes."""
        return None if self.until is None else max(self.until - time.time(), 0.0) / 60


Elsewhere = Callable[[Recipe, Context], Executor]
"""Who makes the steps of a recipe where this process does not; the context has the deadline, and shows progress."""


def _of_data(kb: KnowledgeBase, context: Context) -> tuple[str, str, int]:
    """Digest, device and memory."""
    return kb.digest, context.device, FACT_BYTES * sum(len(kb.facts(split)) for split in SPLITS)


def _told(store: Place) -> str:
    """A store by a name that other processes understand."""
    return str(store.absolute()) if isinstance(store, Path) else str(store)


def _wall_clock(deadline: Deadline) -> float | None:
    """A deadline by the clock that machines share."""
    return None if deadline.at == float("inf") else time.time() + deadline.at - time.monotonic()
