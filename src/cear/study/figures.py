"""The paper's figures, drawn from records: the ranks of golds that CEAR put first, and H@1 against k."""

from __future__ import annotations

import numpy as np

from cear.reports import Bars, Curve, open_ranks
from cear.study import published
from cear.study.cells import Cell
from cear.study.records import Found, Records
from cear.study.tables import BEST, CLOSED, KS, NAMES, k_cell

LAST = 20  # the last rank with a bar of its own; the others of a list share one


def candidates_curve(records: Records) -> Curve:
    """The same as curves, beside what the paper prints."""
    series: dict[str, tuple[tuple[float, float], ...]] = {}
    for data in CLOSED:
        ours = [(k, records.of(k_cell(data, k)).measure("hits@1").value) for k in KS]
        points = tuple((float(k), 100 * value) for k, value in ours if value is not None)
        series |= {NAMES[data]: points} if points else {}
        printed = zip(KS, published.S1_ENTITIES[data], strict=True)
        series[f"{NAMES[data]}, the paper"] = tuple((float(k), float(value)) for k, value in printed)
    return Curve("s1_entities-curve", "H@1 against the number of candidates", "candidates", "H@1, %", series)


def histogram(label: str, data: tuple[str, ...], records: Records) -> Bars:
    """The Stage-1 ranks of the golds that re-ranking put first: the paper's case 01."""
    names = (*(str(rank) for rank in range(2, LAST + 1)), f"over {LAST}")
    found = {NAMES[each]: records.of(Cell.of(each, BEST[each])) for each in data}
    series = {name: ranks_put_first(each) for name, each in found.items() if each}
    title = f"Stage-1 rank of the golds that CEAR put first, {' and '.join(NAMES[each] for each in data)}"
    return Bars(label, title, "rank by Stage 1", "queries", names, series)


def ranks_put_first(found: Found) -> tuple[float, ...]:
    """How many golds that only re-ranking put first Stage 1 had on each place: 2 to `LAST`, and behind."""
    after = open_ranks(found.cells[0].record)
    assert after.before is not None
    last, first = (np.ceil(each.ranks.under(each.ties)).astype(np.int64) for each in (after, after.before))
    moved = np.minimum(first[(last == 1) & (first > 1)], LAST + 1)
    return tuple(float(count) for count in np.bincount(moved, minlength=LAST + 2)[2:])
