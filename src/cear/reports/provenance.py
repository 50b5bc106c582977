"""Where a number comes from: command, configuration, commit, data, versions, machine, time."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import cear
from cear.core.errors import MismatchError
from cear.core.machine import checkout, cpu_name, peak_bytes
from cear.reports.machine_paths import clean, clean_command

PACKAGES = ("torch", "numpy", "polars")


@dataclass(frozen=True)
class Provenance:
    """What one needs to know to get the same number again. None stands for what could not be found out."""

    command: str
    config: Mapping[str, Any]
    data: str
    digest: str
    seconds: float
    """Of everything that led to the number: the sum over `steps`, where there are any."""
    commit: str | None
    dirty: bool | None
    """Whether the package's files differ from the commit."""
    versions: Mapping[str, str]
    cpu: str
    threads: int
    peak_bytes: int | None
    """The most memory this process had at any time."""
    date: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    steps: Sequence[Mapping[str, Any]] = ()
    """The chain of steps behind the number, each with its name, key, seconds, machine, commit and whether `reused`."""

    def __post_init__(self) -> None:
        total = _total_seconds(self.steps)
        if self.steps and not math.isclose(self.seconds, total, rel_tol=1e-9, abs_tol=1e-6):
            raise MismatchError(
                f"The provenance says {self.seconds} seconds, but its {len(self.steps)} steps took {total}. "
                "Leave the seconds out: they are the sum of the steps."
            )

    @classmethod
    def collect(
        cls,
        *,
        config: Mapping[str, Any],
        data: str,
        digest: str,
        seconds: float | None = None,
        steps: Sequence[Mapping[str, Any]] = (),
        command: str | None = None,
    ) -> Provenance:
        """The provenance of what this process has just computed; give its `seconds`, or the `steps` that took them."""
        if seconds is None and not steps:
            raise MismatchError("A provenance needs the seconds that the number took, or the steps that took them.")
        commit, dirty = checkout()
        return cls(
            command=clean_command() if command is None else command,
            config=clean(config),
            data=clean(data),
            digest=digest,
            seconds=_total_seconds(steps) if seconds is None else seconds,
            commit=commit,
            dirty=dirty,
            versions=_versions(),
            cpu=cpu_name(),
            threads=_threads(),
            peak_bytes=peak_bytes(),
            steps=clean(steps),
        )

    def as_json(self) -> dict[str, Any]:
        """The provenance as a value of JSON."""
        return asdict(self)


def _total_seconds(steps: Sequence[Mapping[str, Any]]) -> float:
    """The seconds of all steps, those that an earlier run took included."""
    return math.fsum(step["seconds"] for step in steps)


def _versions() -> dict[str, str]:
    found = {"cear": cear.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _threads() -> int:
    import torch  # here, because whoever only draws tables need not wait for it

    return torch.get_num_threads()
