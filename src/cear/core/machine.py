"""What this process runs on and from: processor, memory, and the commit of the package's files."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import cear


def cpu_name() -> str:
    """The processor's name and how many of them this process may use."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{count} x {names[0] if names else platform.processor() or platform.machine()}"


def peak_bytes() -> int | None:
    """The most memory this process had at any time, where the system tells."""
    try:
        import resource  # not on Windows
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def available_bytes() -> int | None:
    """The memory that processes may still take without swapping, where the system tells."""
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return None


@cache
def checkout() -> tuple[str | None, bool | None]:
    """The commit of the checkout that this package runs from and whether its files were changed, asked for once."""
    if not _is_checkout():
        return None, None
    changed = _git("status", "--porcelain", "--", ".")
    return _git("rev-parse", "HEAD"), None if changed is None else bool(changed)


@cache
def code_digest() -> str:
    """A hash of the package's own files as they are now, whether a commit has them or not, computed once."""
    folder, found = Path(cear.__file__).parent, hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        for part in (path.relative_to(folder).as_posix().encode(), path.read_bytes()):
            found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


def changed_since(commit: str) -> bool | None:
    """Whether the package's files differ from those of a commit; None where no checkout has that commit."""
    if not _is_checkout() or _git("cat-file", "-e", f"{commit}^{{commit}}") is None:
        return None
    changed = _git("diff", "--name-only", commit, "--", ".")
    new = _git("ls-files", "--others", "--exclude-standard", "--", ".")
    return None if changed is None or new is None else bool(changed or new)


def _is_checkout() -> bool:
    """Whether git knows this package: one installed inside some other project's checkout is not of its commit."""
    return _git("ls-files", "--error-unmatch", "__init__.py") is not None


def _git(*arguments: str) -> str | None:
    """What git says in the package's folder, or None when it fails."""
    folder = str(Path(cear.__file__).parent)
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
