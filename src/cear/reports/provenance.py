"""Where a number comes from: command, configuration, commit, data, versions, machine, time."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import cear
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
    commit: str | None
    dirty: bool | None
    """Whether the package's files differ from the commit."""
    versions: Mapping[str, str]
    cpu: str
    threads: int
    peak_bytes: int | None
    """The most memory this process had at any time."""
    date: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @classmethod
    def collect(
        cls, *, config: Mapping[str, Any], data: str, digest: str, seconds: float, command: str | None = None
    ) -> Provenance:
        """The provenance of what this process has just computed."""
        commit, dirty = _checkout()
        return cls(
            command=clean_command() if command is None else command,
            config=clean(config),
            data=clean(data),
            digest=digest,
            seconds=seconds,
            commit=commit,
            dirty=dirty,
            versions=_versions(),
            cpu=_cpu(),
            threads=_threads(),
            peak_bytes=peak_bytes(),
        )

    def as_json(self) -> dict[str, Any]:
        """The provenance as a value of JSON."""
        return asdict(self)


def peak_bytes() -> int | None:
    """The most memory this process had at any time, where the system tells."""
    try:
        import resource  # not on Windows
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


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


def _cpu() -> str:
    """The processor's name and how many of them this process may use."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{count} x {names[0] if names else platform.processor() or platform.machine()}"


def _checkout() -> tuple[str | None, bool | None]:
    """The commit of the checkout that this package runs from and whether its files were changed."""
    # A package installed inside some other project's checkout is not of that project's commit.
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None, None
    changed = _git("status", "--porcelain", "--", ".")
    return _git("rev-parse", "HEAD"), None if changed is None else bool(changed)


def _git(*arguments: str) -> str | None:
    """What git says in the package's folder, or None when it fails."""
    folder = str(Path(cear.__file__).parent)
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
