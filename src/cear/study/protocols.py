"""Open knowledge bases under both protocols, beside what CaRe prints."""

from __future__ import annotations

from cear.core.types import Protocol
from cear.reports import Column, Entry, Row, Table
from cear.study.cells import Cell
from cear.study.records import Records

DATA = "reverb45k"  # which has clusters; those of mOKB6-en are not in its files
MEASURES = {"mrr": "MRR", "hits@10": "H@10", "hits@50": "H@50"}
PROTOCOLS: dict[Protocol, str] = {"ours": "ours", "care": "CaRe's"}
SYSTEMS = {
    "complex-lstm": "ComplEx-LSTM",
    "extreme-text": "ExtremeText",
    "text": "text",
    "cear-extreme-text": "CEAR(ExtremeText)",
    "wide": "wide",
}
PUBLISHED = {"ConvE": (0.233, 0.338, 0.429), "CaRe(ConvE)": (0.324, 0.456, 0.579)}
"""Gupta et al. 2019, under CaRe's protocol: MRR, H@10, H@50."""

CELLS = tuple(Cell.of(DATA, name).under(protocol) for name in SYSTEMS for protocol in PROTOCOLS)


def both_protocols(records: Records) -> Table:
    """MRR, H@10 and H@50 of every system under our protocol and under CaRe's."""
    columns = tuple(
        Column(heading, protocol, digits=3 if name == "mrr" else 1, percent=name != "mrr")
        for protocol in PROTOCOLS.values()
        for name, heading in MEASURES.items()
    )
    rows = [Row(label, _entries(name, records), ours=True) for name, label in SYSTEMS.items()]
    rows += [
        Row(f"{label}, published", (*[Entry(text="–")] * 3, *map(Entry, values))) for label, values in PUBLISHED.items()
    ]
    notes = (
        "ReVerb45K. Ours: the best mention of the gold counts, other known answers go with all their mentions.",
        "CaRe's: wrong clusters count once, and only training answers are filtered.",
    )
    return Table("care", "Open link prediction under both protocols", columns, tuple(rows), notes)


def _entries(name: str, records: Records) -> tuple[Entry, ...]:
    found = [records.of(Cell.of(DATA, name).under(protocol)) for protocol in PROTOCOLS]
    return tuple(each.measure(measure) for each in found for measure in MEASURES)
