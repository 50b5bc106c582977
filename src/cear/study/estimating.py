"""What the cells of a study would cost, before anything is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.table import Column, Table
from rich.text import Text

from cear.core.errors import CearError
from cear.pipeline import Plan, in_words, lay_out
from cear.reranking import SequenceConfig
from cear.study.cells import Cell

PARAMETERS = {"bert-base-uncased": 110e6}
EMBEDDED = 22.7e6  # the encoder that is installed with this package
RATES = {"cpu": 1e11, "paper": 3e13}  # operations a second: two cores; one GPU of the paper's kind, half precision
QUERY_TOKENS = 20  # of subject and relation, before the candidates


@dataclass(frozen=True)
class Estimate:
    """What a cell needs."""

    cell: Cell
    steps: int = 0
    missing: int = 0
    """Steps that are to be made."""
    lists: int = 0
    """That a sequence re-ranker reads in its training, all epochs together."""
    operations: float = 0.0
    """Of that training and of the test, 6 and 2 for each weight and token."""
    problem: str = ""

    @property
    def seconds(self) -> float:
        """About how long the re-ranker takes, on what the size is made for."""
        return self.operations / RATES[self.cell.size]


def estimates(cells: Iterable[Cell], store: Path | str | None = None) -> Iterator[Estimate]:
    """What each cell needs; what cannot be laid out here is said."""
    for cell in cells:
        try:
            yield _estimate(cell, lay_out(cell.settings, cell.out, store=store))
        except CearError as error:
            yield Estimate(cell, problem=str(error))


def _estimate(cell: Cell, plan: Plan) -> Estimate:
    chain = {each.key: each for step in plan.system for each in step.chain()}
    missing = sum(not plan.store.has(step) for step in chain.values())
    lists, operations = _reading(cell, plan) if missing else (0, 0.0)
    return Estimate(cell, len(chain), missing, lists, operations)


def _reading(cell: Cell, plan: Plan) -> tuple[int, float]:
    """The lists that a sequence re-ranker learns from, and its operations with those of the test."""
    settings, k = plan.config.reranker, plan.config.candidates.k
    if not isinstance(settings, SequenceConfig):
        return 0, 0.0
    folds = plan.config.candidates.crossfit
    share = 1.0 if folds is None else folds.held_out_folds / folds.folds
    there = int(len(plan.kb.known("train").queries) * share)
    lists = min(settings.lists_per_epoch or there, there) * settings.epochs
    asked = 2 * min(cell.facts or len(plan.kb.facts("test")), len(plan.kb.facts("test")))
    tokens = QUERY_TOKENS + k * (settings.form_tokens + 1)
    return lists, PARAMETERS.get(settings.encoder, EMBEDDED) * tokens * (6 * lists + 2 * asked)


def plan_table(estimated: Iterable[Estimate]) -> Table:
    """A row per cell: steps to be made, lists, and about how long the re-ranker takes."""
    table = Table(Column("cell", overflow="fold"), "steps", "to make", "lists", "re-ranker, about", "")
    total = 0.0
    for each in estimated:
        total += each.seconds
        told = in_words(each.seconds) if each.operations else "–"
        counts = (str(each.steps), str(each.missing), f"{each.lists:,}" if each.lists else "–")
        table.add_row(Text(each.cell.name), *counts, told, Text(each.problem))
    table.caption = f"Re-rankers that are to be trained take about {in_words(total)} together."
    return table
