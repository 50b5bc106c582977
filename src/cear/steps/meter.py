"""What work costs: seconds of wall clock and of all cores, threads, and the most memory it had."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from cear.core.machine import peak_bytes
from cear.core.records import from_json
from cear.core.seals import if_whole, read_sealed, write_sealed

_BEAT = 0.5  # seconds between two looks at the memory
_WRITES = 10  # looks between two writes: a kill loses five seconds of the account


@dataclass(frozen=True)
class Spent:
    """The cost of a piece of work, interruptions included."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    threads: int = 0
    peak_bytes: int = 0

    def plus(self, other: Spent) -> Spent:
        """Both together."""
        return Spent(
            self.seconds + other.seconds,
            self.cpu_seconds + other.cpu_seconds,
            max(self.threads, other.threads),
            max(self.peak_bytes, other.peak_bytes),
        )


class Meter:
    """Measures the block that it is entered for, and keeps the account in a file, so that a killed one is counted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = if_whole(path, lambda path: from_json(Spent, read_sealed(path), path)) or Spent()
        self._stop = threading.Event()
        self._peak = 0

    def __enter__(self) -> Self:
        self._start, self._cpu = time.perf_counter(), time.process_time()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        write_sealed(self._path, asdict(self.spent))

    @property
    def spent(self) -> Spent:
        """The cost until now, with that of earlier tries."""
        import torch  # whoever makes a step has it

        seconds, cpu = time.perf_counter() - self._start, time.process_time() - self._cpu
        return self._before.plus(Spent(seconds, cpu, torch.get_num_threads(), max(self._peak, _resident())))

    def _watch(self) -> None:
        beats = 0
        while not self._stop.wait(_BEAT):
            self._peak = max(self._peak, _resident())
            beats += 1
            if beats % _WRITES == 0:
                write_sealed(self._path, asdict(self.spent))


def _resident() -> int:
    """The memory that this process has now; where the system does not say, the most it ever had."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return peak_bytes() or 0
    return pages * os.sysconf("SC_PAGE_SIZE")
