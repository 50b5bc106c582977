"""Two records query by query: whether their systems differ, on what sides, cardinalities and relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from cear.core.errors import DataError
from cear.core.names import beside
from cear.core.types import Bools
from cear.evaluation import MRR, Difference, Evaluation, compare, read_ranks
from cear.reports.records import final, read_record
from cear.reports.tables import HEADINGS

RANKS = ".parquet"  # the ending of a file of ranks


@dataclass(frozen=True)
class Group:
    """The paired test of two systems on some of their queries."""

    name: str
    queries: int
    differences: Mapping[str, Difference]

    def as_json(self) -> dict[str, Any]:
        """The group as a value of JSON."""
        found = {name: {"difference": each.difference, **asdict(each)} for name, each in self.differences.items()}
        return {"name": self.name, "queries": self.queries, **found}


@dataclass(frozen=True)
class Comparison:
    """How much the second system is better than the first, on all queries and on some of them."""

    sides: tuple[Group, ...]
    """Both, head, tail."""
    cardinalities: tuple[Group, ...]
    inverses: tuple[Group, ...]
    """Facts that stand in train the other way round, and the rest; none where ranks do not say it."""
    relations: tuple[Group, ...]
    """The one with the largest total change of the reciprocal rank first."""

    def as_json(self) -> dict[str, Any]:
        """The comparison as a value of JSON."""
        parts = {
            "sides": self.sides,
            "cardinalities": self.cardinalities,
            "inverses": self.inverses,
            "relations": self.relations,
        }
        return {name: [group.as_json() for group in groups] for name, groups in parts.items()}


def compare_groups(first: Evaluation, second: Evaluation, *, relations: int = 10) -> Comparison:
    """The paired tests of two systems on the same queries, and on the `relations` where most has changed."""
    everything = compare(first, second)  # which also refuses two systems that were asked differently
    head, kinds = first.asks_head, sorted(set(first.cardinality.tolist()))
    return Comparison(
        sides=(
            Group("both", len(head), everything),
            _group("head", first, second, head),
            _group("tail", first, second, ~head),
        ),
        cardinalities=tuple(_group(kind, first, second, first.cardinality == kind) for kind in kinds),
        inverses=tuple(
            _group(name, first, second, which) for name, which in first.inverse_groups().items() if which.any()
        ),
        relations=tuple(
            _group(first.relations.get(each, str(each)), first, second, first.asked_relations == each)
            for each in _most_changed(first, second)[:relations]
        ),
    )


def _group(name: str, first: Evaluation, second: Evaluation, which: Bools) -> Group:
    return Group(name, int(which.sum()), compare(first, second, which=which))


def _most_changed(first: Evaluation, second: Evaluation) -> list[int]:
    """The relations, by how much the sum of reciprocal ranks of their queries changes in either direction."""
    gains = (second.values([MRR()]) - first.values([MRR()]))[:, 0]
    relations, place = np.unique(first.asked_relations, return_inverse=True)
    change = np.abs(np.bincount(place, weights=gains))
    return [int(each) for each in relations[np.argsort(-change, kind="stable")]]


def open_ranks(path: Path) -> Evaluation:
    """The ranks of every query behind a record: of its JSON file, of its file of ranks, or of a run's `test.json`."""
    if path.suffix == RANKS:
        return read_ranks(path)
    path = path / "test.json" if path.is_dir() else path
    record = read_record(path)
    if "ranks" not in record:
        raise DataError(
            f"{path} does not hold the rank of every query: it was written before records did. "
            f"Make it again: {record.get('provenance', {}).get('command', 'cear evaluate RUN --json FILE')}"
        )
    evaluation = read_ranks(beside(path, record["ranks"]))
    _refuse_other_figures(path, record, evaluation)
    return evaluation


def _refuse_other_figures(path: Path, record: Mapping[str, Any], evaluation: Evaluation) -> None:
    """Refuse a file of ranks that took the place of the record's own."""
    stored, found = final(record)["both"]["mrr"], evaluation.summary()["both"]["mrr"]
    if not np.isclose(stored, found, rtol=0, atol=1e-9):
        raise DataError(
            f"{path} says an MRR of {stored:.6f}, but the ranks in {record['ranks']} give {found:.6f}: "
            "they are of another evaluation. Make the record again."
        )


def comparison_table(comparison: Comparison, first: str, second: str) -> Table:
    """The paired tests, a row per measure: all queries, sides, cardinalities, and the relations that changed most."""
    # Names are the user's and may hold [brackets]: a Text, never markup.
    table = Table(title=Text(f"A: {first}\nB: {second}"), caption=_caption(comparison))
    table.add_column("queries", overflow="fold")
    table.add_column("")
    for heading in ("n", "A", "B", "B - A", "95 % interval", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    for groups in (comparison.sides, comparison.cardinalities, comparison.inverses, comparison.relations):
        for group in groups:
            _add_rows(table, group)
        table.add_section()
    return table


def _add_rows(table: Table, group: Group) -> None:
    names, counts = [Text(group.name)], [f"{group.queries:,}"]
    for measure, each in group.differences.items():
        values = (f"{each.first:.3f}", f"{each.second:.3f}", f"{each.difference:+.3f}")
        label, count = (names.pop(), counts.pop()) if names else (Text(""), "")
        table.add_row(label, HEADINGS[measure], count, *values, f"{each.low:+.3f} to {each.high:+.3f}", f"{each.p:.4f}")


def _caption(comparison: Comparison) -> str:
    parts = (comparison.sides, comparison.cardinalities, comparison.inverses, comparison.relations)
    count = sum(map(len, parts))
    return f"paired by distinct query; p not corrected for the {count} comparisons of each measure"
