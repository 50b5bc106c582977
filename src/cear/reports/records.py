"""Result records: the figures of one evaluation, unrounded, with their provenance, as one JSON file.

Beside it stands a file with the rank of every query, from which any other figure can be computed later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cear.core.errors import DataError
from cear.core.files import read_json, write_json
from cear.evaluation import Evaluation, Intervals, Summary, compare, write_ranks
from cear.ranking import confusion
from cear.reports.machine_paths import clean
from cear.reports.provenance import Provenance

EARLIER = "earlier"  # the folder of records that are of other code than today's, by commit


@dataclass(frozen=True)
class Record:
    """The figures of one evaluation and where they come from."""

    model: str
    data: str
    split: str
    queries: int
    ties: str
    stage1: Summary
    intervals: Intervals
    cardinality: Mapping[str, Any]
    inverse: Mapping[str, Any]
    """Measures on facts that stand in train the other way round, and on the rest."""
    recall: Mapping[str, Any]
    leak: Mapping[str, Any]
    provenance: Provenance
    details: Mapping[str, Any] = field(default_factory=dict)
    """What a table should say besides: rank, epochs, `training_seconds`."""
    stage2: Summary | None = None
    """After re-ranking, where there is a second stage."""
    reranking: Mapping[str, Any] = field(default_factory=dict)
    """What a second stage changes: intervals, cardinality, inverses, paired difference, confusion."""
    target: Mapping[str, float] = field(default_factory=dict)
    """What both sides together were meant to reach, by measure."""
    completion: Mapping[str, Any] = field(default_factory=dict)
    """What became of the proposals of a calibrated run; empty for others."""
    protocol: str = "ours"
    """How ranks are counted; a record of ours does not say it."""

    @classmethod
    def of(
        cls,
        evaluation: Evaluation,
        provenance: Provenance,
        *,
        model: str,
        details: Mapping[str, Any] | None = None,
        target: Mapping[str, float] | None = None,
        completion: Mapping[str, Any] | None = None,
    ) -> Record:
        """The record of an evaluation, and of the one before re-ranking where it has one."""
        after, evaluation = evaluation, evaluation.before or evaluation
        second = after is not evaluation
        leak = evaluation.leak
        return cls(
            model=model,
            data=clean(evaluation.data),
            split=evaluation.split,
            queries=len(evaluation.queries),
            ties=evaluation.ties,
            stage1=evaluation.summary(),
            intervals=evaluation.intervals(),
            cardinality=evaluation.by_cardinality(),
            inverse=evaluation.by_inverse(),
            recall=evaluation.recall(),
            leak={"checked": leak.checked, "marked": leak.marked, "share": leak.share},
            provenance=provenance,
            details=details or {},
            stage2=after.summary() if second else None,
            reranking=_reranking(evaluation, after) if second else {},
            target=target or {},
            completion=completion or {},
            protocol=evaluation.protocol,
        )

    def as_json(self) -> dict[str, Any]:
        """The record as a value of JSON: data, split, queries, stage1 first."""
        second = ("stage2", "reranking") if self.stage2 is not None else ()
        first = (
            "data",
            "split",
            "queries",
            "stage1",
            *second,
            "model",
            "ties",
            "intervals",
            "cardinality",
            "inverse",
            "recall",
            "leak",
        )
        values = {key: getattr(self, key) for key in first}
        values |= {} if self.protocol == "ours" else {"protocol": self.protocol}
        values |= {"details": clean(self.details), "target": dict(self.target)}
        values |= {"completion": dict(self.completion)} if self.completion else {}
        return values | {"provenance": self.provenance.as_json()}


def _reranking(before: Evaluation, after: Evaluation) -> dict[str, Any]:
    """What a second stage changes, as a value of JSON."""
    return {
        "intervals": after.intervals(),
        "cardinality": after.by_cardinality(),
        "inverse": after.by_inverse(),
        "difference": {
            name: {"difference": each.difference, **asdict(each)} for name, each in compare(before, after).items()
        },
        "confusion": confusion(before, after),
        "listed": None if after.listed is None else float(after.listed.mean()),
    }


def write_record(path: Path, record: Record, evaluation: Evaluation) -> None:
    """Write a record, unrounded, and beside it the rank of every query, `X.ranks.parquet`; each file atomically."""
    ranks = ranks_path(path)
    write_ranks(ranks, replace(evaluation, data=record.data))  # without the paths of this machine
    write_json(path, record.as_json() | {"ranks": ranks.name})


def ranks_path(record: Path) -> Path:
    """Where the ranks of a record's queries are: beside it, under its name."""
    return record.with_suffix(".ranks.parquet")


def read_records(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The evaluation records under a folder, in the order of their paths; other JSON files are passed over.

    So are those in its folder `earlier`, which are of other code: `cear results --set-aside`.
    """
    for path in sorted(folder.rglob("*.json")):
        if path.relative_to(folder).parts[0] != EARLIER and _is_evaluation(value := _read(path)):
            yield path, value


def read_record(path: Path) -> dict[str, Any]:
    """The evaluation record in a file."""
    value = _read(path)
    if not _is_evaluation(value):
        raise DataError(f"{path} is not a record of an evaluation. `cear run` and `cear evaluate --json` write them.")
    record: dict[str, Any] = value
    return record


def _is_evaluation(value: Any) -> bool:
    """Whether a value of JSON is the record of an evaluation; a benchmark may speak of stages, too."""
    return isinstance(value, dict) and {"data", "split", "stage1"} <= value.keys()


def final(record: Mapping[str, Any]) -> Summary:
    """The figures of a record, as JSON has it, after the last stage."""
    summary: Summary = record.get("stage2") or record["stage1"]
    return summary


def _read(path: Path) -> Any:
    if not path.exists():
        raise DataError(f"There is no record {path}. `cear run` and `cear evaluate --json` write them.")
    return read_json(path)
