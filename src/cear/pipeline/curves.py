"""The curves of a run's trainings: a row for every epoch, in a file of the run's folder.

It is a log, and no part of any step: how many seconds an epoch took is no result, and steps are the same to the byte.
"""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator
from dataclasses import asdict, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cear.core.files import read_json, replacing
from cear.core.watching import Epoch
from cear.pipeline.making import TRAINING
from cear.steps import Step

if TYPE_CHECKING:
    from cear.pipeline.plan import Plan

log = logging.getLogger("cear.pipeline")

CURVES = "curves.csv"
TRAININGS = ("retriever-", "reranker-")  # how the kinds of steps begin that train


class Curves:
    """Keeps what every epoch came to, those of earlier tries of the same run too."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, *epochs: Epoch) -> None:
        """Keep epochs; what the same training had told of them and of later ones is void, as after an interruption."""
        for new in epochs:
            self._rows[:] = [row for row in self._rows if row.training != new.training or row.epoch < new.epoch]
            self._rows.append(new)
        with replacing(self._path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, [field.name for field in fields(Epoch)], lineterminator="\n")
            table.writeheader()
            table.writerows(map(asdict, self._rows))

    def complete(self, plan: Plan) -> None:
        """Add trainings that were found ready: of these the epochs are known that were validated."""
        steps = {each.key: each for last in plan.last for each in last.chain() if each.kind.startswith(TRAININGS)}
        told = {(row.training, row.epoch) for row in self._rows}
        kept = (epoch for step in steps.values() for epoch in _kept(plan, step))
        self.add(*(epoch for epoch in kept if (epoch.training, epoch.epoch) not in told))

    @cached_property
    def _rows(self) -> list[Epoch]:
        """What the file holds already."""
        try:
            with self._path.open(encoding="utf-8", newline="") as file:
                return [_epoch(row) for row in csv.DictReader(file)]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, KeyError, csv.Error) as error:
            log.warning("%s is damaged (%s) and begins anew; no result depends on it.", self._path, error)
            return []


def _epoch(row: dict[str, str]) -> Epoch:
    """An epoch as a line of the file says it."""
    loss, valid, seconds = (float(row[name]) if row[name] else None for name in ("loss", "valid", "seconds"))
    return Epoch(row["training"], int(row["epoch"]), loss, valid, seconds)


def _kept(plan: Plan, step: Step) -> Iterator[Epoch]:
    """The epochs that a finished step tells of."""
    values = read_json(plan.store.get(step) / TRAINING)
    phases = values.get("phases")
    trainings = {step.name: values} if phases is None else {f"{step.name}, {name}": phases[name] for name in phases}
    for training, state in trainings.items():
        for row in state["history"]:
            yield _told(training, row)


def _told(training: str, row: dict[str, Any]) -> Epoch:
    return Epoch(training, int(row["epoch"]), row.get("loss"), row.get("valid"), None)
