"""What the cut of a benchmark gives away: rows with it and without it, beside published systems that see the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cear.reports import Column, Entry, Row, Table
from cear.study.cells import Cell
from cear.study.published import FB, WN
from cear.study.records import Records
from cear.study.tables import NAMES

Sees = Literal["no", "some", "yes", "unknown"]
WORDS: dict[Sees, str] = {
    "no": "does not see it",
    "some": "can learn some of it",
    "yes": "can learn it",
    "unknown": "not looked into",
}


@dataclass(frozen=True)
class Published:
    """A figure of another paper."""

    name: str
    sees: Sees
    mrr: float
    hits1: float | None
    text: bool = False
    """Whether it reads texts."""


OURS: dict[str, dict[Sees, str]] = {
    FB: {"no": "wide", "yes": "wide-linked"},
    WN: {"no": "wide-no-absence", "yes": "wide"},
}
"""Our two systems of each data set, by whether they see what its split gives away."""

OTHERS = {
    FB: (
        Published("SAFRAN", "no", 0.389, 0.298),
        Published("MoCoKGC", "unknown", 0.391, 0.296, text=True),
        Published("NBFNet", "some", 0.415, 0.321),
        Published("AdaProp", "yes", 0.417, 0.331),
        Published("KnowFormer", "yes", 0.430, None),
    ),
    WN: (
        Published("NBFNet", "unknown", 0.551, 0.497),
        Published("KnowFormer", "unknown", 0.579, None),
        Published("SimKGC, then a cross-encoder", "unknown", 0.739, 0.673, text=True),
        Published("MoCoKGC", "unknown", 0.742, 0.665, text=True),
    ),
}
"""What others print, and whether their training, as published, can learn what the split gives away."""

CELLS = tuple(Cell.of(data, name) for data, names in OURS.items() for name in names.values())


def given_away(records: Records) -> Table:
    """MRR and H@1 of our systems with and without what a split gives away, and of others."""
    columns = (Column("MRR", best="none"), Column("H@1", digits=1, percent=True, best="none"), Column("", best="none"))
    rows = []
    for data, names in OURS.items():
        for sees, name in names.items():
            found = records.of(Cell.of(data, name))
            entries = (found.measure("mrr"), found.measure("hits@1"), Entry(text=WORDS[sees]))
            rows.append(Row(f"{NAMES[data]}: {name}", entries, ours=True))
        rows += [_printed(data, other) for other in OTHERS[data]]
    notes = (
        "FB15K-237 took every pair that train links out of valid and test: linked pairs are no answers.",
        "WN18RR took single facts out of a complete hierarchy: whose place is free is likely to be an answer.",
        "AdaProp and KnowFormer delete all direct edges of training pairs, NBFNet those of sampled negatives too.",
        "The figures of others are those that they print; marked “text” where they read names and definitions.",
    )
    return Table("given_away", "What a split gives away", columns, tuple(rows), notes)


def _printed(data: str, other: Published) -> Row:
    text = ", text" if other.text else ""
    entries = (Entry(other.mrr), Entry(other.hits1) if other.hits1 else Entry(text="–"), Entry(text=WORDS[other.sees]))
    return Row(f"{NAMES[data]}: {other.name}, published{text}", entries)
