"""Experiments of the study: what is found out about finished cells, in a file that is made again when they change."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from cear.core.files import read_json, write_json
from cear.reports import Provenance
from cear.study.making import Making

RESULTS = Path("results/study")


class Experiment(ABC):
    """What is found out, from what, and where it is written."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its findings are in `results/study/NAME.json`."""

    @abstractmethod
    def inputs(self) -> dict[str, Any] | None:
        """All that decides its findings, as a value of JSON; None while something that it needs is missing."""

    @abstractmethod
    def find(self, making: Making) -> dict[str, Any]:
        """What it finds, as a value of JSON, with `data` and its `digest`."""

    @property
    def path(self) -> Path:
        """The file of its findings."""
        return RESULTS / f"{self.name}.json"

    def found(self) -> dict[str, Any] | None:
        """Its findings; None where there are none, or those of other inputs."""
        inputs = self.inputs()
        kept = read_json(self.path) if inputs is not None and self.path.exists() else {}
        return kept["findings"] if inputs is not None and kept.get("inputs") == inputs else None

    def make(self, making: Making, command: str) -> None:
        """Find it out and write it down, unless it is known, or something that it needs is missing."""
        inputs, start = self.inputs(), time.perf_counter()
        if inputs is None or self.found() is not None:
            return
        found = self.find(making)
        provenance = Provenance.collect(
            config=inputs,
            data=found["data"],
            digest=found["digest"],
            seconds=time.perf_counter() - start,
            command=command,
        )
        write_json(self.path, {"inputs": inputs, "findings": found, "provenance": provenance.as_json()})
