"""A completion in the terminal: how many of the first proposals are right, by what they are sorted by."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table

from cear.evaluation import Calibration, Proposed

TOPS = (100, 300, 1_000, 10_000)


def completion_table(proposed: Proposed, others: Mapping[str, Proposed]) -> Table:
    """Right ones among the first proposals, sorted by probability and by what else there is."""
    tops = [n for n in TOPS if n <= len(proposed)] or [max(len(proposed), 1)]
    hidden = f"{proposed.hidden:,} hidden facts are right, everything else counts as wrong: a lower bound"
    table = Table(title="Completion, test facts hidden", caption=hidden)
    table.add_column("proposals sorted by")
    for n in tops:
        table.add_column(f"right of {n:,}", justify="right")
    table.add_column("average precision", justify="right")
    for name, each in {"probability": proposed, **others}.items():
        table.add_row(name, *(f"{each.right_at(n):,}" for n in tops), f"{each.average_precision:.3f}")
    return table


def calibration_line(calibration: Calibration) -> str:
    """Whether probabilities hold, in a sentence."""
    return (
        f"Probabilities above {calibration.floor:g}: {calibration.count:,} proposals, {calibration.expected:.0f} "
        f"right ones expected and {calibration.right:,} found; expected calibration error {calibration.ece:.3f}."
    )
