"""A completion in the terminal, by hand: four proposals, three hidden facts."""

from __future__ import annotations

from io import StringIO

import numpy as np
from rich.console import Console
from rich.table import Table

from cear.evaluation import Calibration, Proposed
from cear.reports import calibration_line, completion_table

FACTS = np.array([[0, 0, 1], [0, 0, 2], [1, 0, 2], [2, 0, 3]])
RIGHT = np.array([True, False, True, False])


def proposed(*scores: float, n: int = 1) -> Proposed:
    """Four proposals, two of them right, of three hidden facts; or n times as many."""
    facts = np.concatenate([FACTS + np.array([10 * i, 0, 0]) for i in range(n)])
    right, none = np.tile(RIGHT, n), np.zeros(4 * n, bool)
    return Proposed(facts, np.tile(scores, n), right, none, 3 * n)


def lines(table: Table) -> list[list[str]]:
    console = Console(width=120, file=StringIO(), record=True)
    console.print(table)
    text = console.export_text().replace("┃", "│")
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines() if "│" in line]


def test_each_way_to_sort_has_a_row() -> None:
    good, bad = proposed(0.9, 0.1, 0.8, 0.2), proposed(1.0, 4.0, 2.0, 3.0)
    header, first, second = lines(completion_table(good, {"Stage 1's score": bad}))
    assert header == ["proposals sorted by", "right of 4", "average precision"]
    assert first == ["probability", "2", "0.667"], "two of three hidden facts, both at precision 1"
    assert second == ["Stage 1's score", "2", f"{(1 / 3 + 2 / 4) / 3:.3f}"]


def test_as_many_places_as_there_are_proposals() -> None:
    header, first = lines(completion_table(proposed(0.9, 0.1, 0.8, 0.2, n=100), {}))
    assert header[1:3] == ["right of 100", "right of 300"]
    assert first[1:3] == ["100", "200"]


def test_no_proposal_is_a_table_all_the_same() -> None:
    nothing = Proposed(np.zeros((0, 3), np.int64), np.zeros(0), np.zeros(0, bool), np.zeros(0, bool), 3)
    assert lines(completion_table(nothing, {}))[1] == ["probability", "0", "0.000"]


def test_whether_probabilities_hold_in_a_sentence() -> None:
    said = calibration_line(Calibration.of(np.array([0.9, 0.9, 0.2, 0.01]), np.array([True, True, False, True])))
    assert said.startswith("Probabilities above 0.05: 3 proposals, 2 right ones expected and 2 found;")
    assert "expected calibration error 0." in said
