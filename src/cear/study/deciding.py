"""What decides whether Stage 2 helps: one change of the re-ranker at a time, and where its gain lies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cear.core.types import Bools
from cear.data import CARDINALITIES
from cear.evaluation import INVERSE, REST, Evaluation, compare
from cear.reports import Column, Entry, Row, Table, open_ranks
from cear.study.cells import Cell
from cear.study.published import FB, WN
from cear.study.records import Found, Records
from cear.study.tables import CLOSED, NAMES

PLAIN = ("candidates.crossfit=null", "candidates.known=keep", "candidates.queries=6000")
CHANGES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "none": ("cross-fitted lists, scores in the head, softmax, Stage 2 alone", ()),
    "plain": ("lists of the Stage 1 that saw their facts", PLAIN),
    "fewer": ("500 lists in place of 1,500", ("reranker.lists_per_epoch=500",)),
    "kept": ("known answers kept in the lists", ("candidates.known=keep",)),
    "bce": ("a binary loss", ("reranker.loss=bce",)),
    "blind": ("no scores in the head", ("reranker.features=none",)),
    "fused": ("both stages weighed on validation", ("fusion=known_answers",)),
}
"""The changes, by name: what each is, and its overrides."""

SYSTEMS = {FB: ("wide", "cear-complex"), WN: ("wide", "cear-rotate")}
RANKS = {"1": (1, 1), "2-3": (2, 3), "4-10": (4, 10), "11-40": (11, 40), "over 40": (41, np.inf)}
RESAMPLES = 1000  # of the many intervals by group


def change_cell(data: str, name: str) -> Cell:
    """The cell of a change; without one it is the sequence re-ranker that is asked about attention."""
    return Cell.of(data, "attention/sequence").changed(f"deciding-{name}", *CHANGES[name][1], seeded="reranker.seed")


CELLS = (
    *(change_cell(data, name) for data in CLOSED for name in CHANGES),
    *(Cell.of(data, name) for data, names in SYSTEMS.items() for name in names),
)


def changes_table(records: Records) -> Table:
    """What the sequence re-ranker adds to its Stage 1, one change at a time."""
    columns = tuple(
        Column(measure, NAMES[data], digits=4, best="none") for data in CLOSED for measure in ("MRR, gain", "H@1, gain")
    )
    rows = []
    for name, (words, _) in CHANGES.items():
        found = [records.of(change_cell(data, name)) for data in CLOSED]
        entries = [_gain(each, measure) for each in found for measure in ("mrr", "hits@1")]
        rows.append(Row(words if name == "none" else f"… {words}", tuple(entries)))
    notes = ("Gains over Stage 1, paired by distinct query. Each row changes one thing in the first.",)
    return Table("deciding", "What decides whether Stage 2 helps", columns, tuple(rows), notes)


def _gain(found: Found, measure: str) -> Entry:
    if not found:
        return Entry()
    gain = found.first["reranking"]["difference"][measure]
    return Entry(gain["difference"], gain["low"], gain["high"], link=found.link)


def groups_table(records: Records) -> Table:
    """The gain of MRR over Stage 1, by cardinality of the relation and by Stage 1's rank of the gold."""
    systems = [(data, name) for data, names in SYSTEMS.items() for name in names]
    columns = tuple(Column(name, NAMES[data], digits=4, best="none") for data, name in systems)
    gains = [_gains_by_group(records.of(Cell.of(data, name))) for data, name in systems]
    rows = tuple(Row(group, tuple(each.get(group, Entry()) for each in gains)) for group in _group_names())
    notes = ("Gains of MRR over Stage 1. Queries whose gold Stage 1 has first can only lose.",)
    return Table("deciding-where", "Where the gain of Stage 2 lies", columns, rows, notes)


def _group_names() -> list[str]:
    return [
        *(f"relation {kind}" for kind in CARDINALITIES),
        *(INVERSE, REST),
        *(f"rank {name} by Stage 1" for name in RANKS),
    ]


def _gains_by_group(found: Found) -> dict[str, Entry]:
    return dict(_gains(found.cells[0].record.resolve(), found.link)) if found else {}


@cache
def _gains(record: Path, link: str) -> tuple[tuple[str, Entry], ...]:
    """The gain in each group that occurs; several tables may ask."""
    after = open_ranks(record)
    gains = {name: _compared(after, which) for name, which in _groups(after).items() if which.any()}
    return tuple(
        (name, Entry(each["difference"], each["low"], each["high"], link=link)) for name, each in gains.items()
    )


def _groups(after: Evaluation) -> dict[str, Bools]:
    assert after.before is not None
    first = after.before.ranks.under(after.ties)
    groups = {f"relation {kind}": after.cardinality == kind for kind in CARDINALITIES} | after.inverse_groups()
    return groups | {
        f"rank {name} by Stage 1": (first >= low) & (first < high + 1) for name, (low, high) in RANKS.items()
    }


def _compared(after: Evaluation, which: Bools) -> dict[str, Any]:
    assert after.before is not None
    gain = compare(after.before, after, which=which, resamples=RESAMPLES)["mrr"]
    return {"difference": gain.difference, "low": gain.low, "high": gain.high}
