"""Several trainings of one configuration: how much its figures depend on the seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from cear.core.errors import MismatchError
from cear.reports.records import Record
from cear.reports.tables import HEADINGS


@dataclass(frozen=True)
class Spread:
    """A figure over several seeds."""

    mean: float
    std: float
    """The standard deviation of one training, estimated from n (divided by n - 1)."""
    min: float
    max: float
    n: int


def spread(records: Sequence[Record]) -> dict[str, Spread]:
    """The spread of every measure of both sides, after the last stage, over records that differ in their seed alone.

    An interval of one record says how much a figure depends on the queries; this says how much on the training.
    """
    _refuse_unlike(records)
    finals = [(record.stage2 or record.stage1)["both"] for record in records]
    return {name: _spread([final[name] for final in finals]) for name in finals[0]}


def seeds_table(records: Sequence[Record]) -> Table:
    """The mean of every measure over seeds, its standard deviation, and the worst and the best of them."""
    first, seeds = records[0], ", ".join(str(_seed(record)) for record in records)
    title = Text(f"{first.data}, {first.split}, seeds {seeds}")
    table = Table(title=title, caption="standard deviation of one training")
    table.add_column("")
    for heading in ("mean", "±", "min", "max"):
        table.add_column(heading, justify="right")
    for name, each in spread(records).items():
        table.add_row(HEADINGS[name], *(f"{value:.3f}" for value in (each.mean, each.std, each.min, each.max)))
    return table


def _spread(values: Sequence[float]) -> Spread:
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)), min(values), max(values), len(values))


def _seed(record: Record) -> Any:
    return record.provenance.config.get("seed")


def _refuse_unlike(records: Sequence[Record]) -> None:
    """Refuse what is no spread over seeds: fewer than two records, a seed twice, or anything else that differs."""
    if len(records) < 2:
        raise MismatchError(f"A spread needs records of at least two seeds, but there is {len(records)}.")
    seeds = [_seed(record) for record in records]
    if None in seeds or len(set(seeds)) < len(seeds):
        raise MismatchError(f"A spread needs records of different seeds, but these have {seeds}.")
    if any(_without_seed(record) != _without_seed(records[0]) for record in records):
        raise MismatchError("The records differ in more than their seed: data, split, tie rule, protocol or settings.")


def _without_seed(record: Record) -> tuple[Any, ...]:
    """Everything that must be alike."""
    settings = {key: value for key, value in record.provenance.config.items() if key != "seed"}
    rules = record.split, record.queries, record.ties, record.protocol
    return record.data, record.provenance.digest, *rules, record.model, settings
