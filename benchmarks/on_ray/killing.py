"""Processes of this benchmark, and their kills: nobody else's are touched."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

IDLE = ("ray::IDLE", "ray::DashboardAgent", "ray::RuntimeEnvAgent")


def descendants(pid: int) -> list[int]:
    """All processes that a process has started, and those that these have started."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            _, _, rest = path.read_text().rpartition(")")
            children.setdefault(int(rest.split()[1]), []).append(int(path.parent.name))
    found, open_ = [], [pid]
    while open_:
        found += (new := children.get(open_.pop(), []))
        open_ += new
    return found


def working(pids: list[int]) -> dict[int, str]:
    """The workers of Ray among these that are making a step, with its name."""
    titles = {pid: title(pid) for pid in pids}
    return {pid: each.removeprefix("ray::") for pid, each in titles.items() if is_step(each)}


def is_step(title: str) -> bool:
    """Whether a process of this title makes a step: workers of Ray are called by what they do."""
    return title.startswith("ray::") and not title.startswith(IDLE)


def title(pid: int) -> str:
    """What a process is called; nothing where it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def kill(pid: int) -> None:
    """Kill a process, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
