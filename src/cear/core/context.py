"""What every piece of work is told besides its settings: seed, device, time, progress, and whether it may download."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

from cear.core.progress import Progress, silent
from cear.core.watching import Watch, unwatched

Device = Literal["auto", "cpu", "cuda", "mps"]
Precision = Literal["fp32", "bf16"]


@dataclass(frozen=True)
class Deadline:
    """When work has to stop, on the clock of `time.monotonic`. Changes nothing in the result."""

    at: float = float("inf")

    @classmethod
    def after(cls, minutes: float | None) -> Self:
        """The moment so many minutes from now; never for None."""
        return cls() if minutes is None else cls(time.monotonic() + 60 * minutes)

    def passed(self) -> bool:
        """Whether it is time to stop."""
        return time.monotonic() >= self.at


NO_DEADLINE = Deadline()


@dataclass(frozen=True)
class Context:
    """One object instead of the tail of every signature. Immutable: `with_seed` gives another."""

    seed: int = 0
    """Of every random choice."""
    device: str = "cpu"
    """Where tensors are: cpu, cuda, cuda:1, mps; `cear.core.devices.resolve` makes one of `auto`."""
    precision: Precision = "fp32"
    """bf16 computes products in bfloat16; weights and sums stay in float32."""
    accumulate: int = 1
    """A batch is computed in so many parts, one after the other, to the same gradient: for little memory."""
    deadline: Deadline = NO_DEADLINE
    progress: Progress = silent
    training: str = ""
    """What a training is called by who watches."""
    watch: Watch = unwatched
    """Who is told of every epoch."""
    download: bool = False
    """Whether what is not on this machine may be fetched."""
    vectors: Path | None = None
    """The folder of text vectors that belong to a run alone, such as one that came with them; None is the cache."""

    def with_seed(self, seed: int) -> Self:
        """The same with another seed."""
        return replace(self, seed=seed)

    def called(self, name: str) -> Self:
        """The same for a training of that name, behind the name of what it is a part of."""
        return replace(self, training=f"{self.training}, {name}" if self.training else name)


HERE = Context()
"""Seed 0, on the CPU, silent, without a deadline, offline."""
