"""Runs as processes of their own, and what they leave."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from kill_and_resume import CONFIG as KILLED
from kill_and_resume import Place

CONFIG: dict[str, Any] = KILLED | {
    "candidates": KILLED["candidates"] | {"crossfit": {"folds": 6, "held_out_folds": 3}},
    "calibration": {"questions": 10_000, "proposals": 5},
}
"""The run of `kill_and_resume.py`, all kinds of steps, with a third fold and probabilities for a completion."""


@dataclass(frozen=True)
class Driver:
    """A configuration in a folder of its own, as one process makes it, or has it made."""

    place: Place
    config: Path
    options: tuple[str, ...] = ()

    @classmethod
    def on(cls, folder: Path, config: Path, on: str | None = None, **options: Any) -> Driver:
        """One that has its steps made there; options are those of `driver.py`."""
        words = [] if on is None else ["--on", on]
        for name, value in options.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        return cls(Place(folder), config, tuple(words))

    def start(self) -> subprocess.Popen[bytes]:
        """Its process; what it says is in a file beside it."""
        folder = self.place.folder
        folder.mkdir(parents=True, exist_ok=True)
        program = Path(__file__).with_name("driver.py")
        command = [sys.executable, str(program), str(self.config), str(folder), *self.options]
        with (folder / "output.txt").open("ab") as output:
            return subprocess.Popen(
                command, stdout=output, stderr=output, env=os.environ | {"CEAR_CACHE": str(folder / "cache")}
            )

    def finish(self) -> float:
        """The seconds from its start to its end."""
        start = time.perf_counter()
        if self.start().wait() != 0:
            sys.exit(f"A run failed:\n{self.said()}")
        return time.perf_counter() - start

    def said(self) -> str:
        """All that it said."""
        return (self.place.folder / "output.txt").read_text(encoding="utf-8", errors="replace")


def written(folder: Path, config: Path | None, default: dict[str, Any] = CONFIG) -> Path:
    """The file of the configuration that is run: the benchmark's own, or one in its place."""
    values = default if config is None else yaml.safe_load(config.read_text(encoding="utf-8"))
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path
