"""What both stages cost: the paper's tables of parameters, training and inference times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cear.pipeline import in_words
from cear.reports import Column, Row, Table
from cear.study import published
from cear.study.cells import Cell
from cear.study.records import Records
from cear.study.tables import BEST, NAMES, STAGE1

Record = Mapping[str, Any]
NOTES = (
    "CPU time, all cores together; the paper's is that of one V100.",
    "CEAR's training is everything after Stage 1: retrievers of the fold, lists, re-ranker, fusion.",
    "Inference is the whole test set, or the sample that is measured.",
)
MEASURING, TRAINING1 = "evaluation", "stage1"  # how the steps of a record begin


def costs(label: str, data: Sequence[str], records: Records) -> Table:
    """Training time, inference time and parameters of Stage 1 and of CEAR."""
    headings = ("train", "infer", "parameters")
    columns = tuple(Column(heading, NAMES[each], best="none") for each in data for heading in headings)
    told: tuple[Callable[[Record], str | None], ...] = (_training1, _inference, _parameters1)
    told2: tuple[Callable[[Record], str | None], ...] = (_training2, _inference, _parameters2)
    rows = []
    for place, (row, names, says) in enumerate((("Stage 1", STAGE1, told), ("CEAR", BEST, told2))):
        entries = [
            records.of(Cell.of(each, names[each])).words(say, paper=paper)
            for each in data
            for say, paper in zip(says, _printed(each, place), strict=True)
        ]
        rows.append(Row(row, tuple(entries), ours=True))
    title = f"Parameters and times, {', '.join(NAMES[each] for each in data)}"
    return Table(label, title, columns, tuple(rows), NOTES)


def _printed(data: str, place: int) -> Sequence[str | None]:
    return published.PARAMS[data][place] if data in published.PARAMS else (None,) * 3


def _spent(record: Record, which: Callable[[str], bool]) -> str | None:
    """The CPU time of some steps, in words; None where the record is older than steps."""
    steps = [step for step in record["provenance"].get("steps", ()) if which(step["name"])]
    return in_words(sum(step["cpu_seconds"] for step in steps)) if steps else None


def _training1(record: Record) -> str | None:
    return _spent(record, lambda name: name == TRAINING1)


def _training2(record: Record) -> str | None:
    return _spent(record, lambda name: name != TRAINING1 and not name.startswith(MEASURING))


def _inference(record: Record) -> str | None:
    return _spent(record, lambda name: name.startswith(MEASURING))


def _parameters1(record: Record) -> str | None:
    return _millions(record["details"])


def _parameters2(record: Record) -> str | None:
    return _millions(record["details"].get("reranker", {}))


def _millions(details: Mapping[str, Any]) -> str | None:
    return f"{details['parameters'] / 1e6:,.1f}M" if "parameters" in details else None
