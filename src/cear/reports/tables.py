"""Tables: an evaluation in the terminal, and all records of a folder in Markdown. Here figures are rounded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from rich.markup import escape
from rich.table import Table

from cear.evaluation import STANDARD, Evaluation, compare
from cear.ranking import confusion
from cear.reports.records import final, read_records

HEADINGS = {"mrr": "MRR", "hits@1": "H@1", "hits@3": "H@3", "hits@10": "H@10", "hits@50": "H@50"}
PROTOCOLS = {"ours": "filtered", "care": "CaRe's protocol"}  # by what `ranks` are counted
NOT_SHOWN = (
    "training_seconds",
    "best_epoch",
    "valid_mrr",
    "parameters",
)  # details that have a column, or say little beside it
RESULTS = ("mrr", "hits@1", "hits@3", "hits@10")


def evaluation_table(evaluation: Evaluation, *, title: str | None = None) -> Table:
    """The measures of both sides, of head and of tail queries, each with its 95 % interval; both stages if two."""
    protocol, queries = PROTOCOLS[evaluation.protocol], f"{len(evaluation.queries):,} queries"
    rule = f"{protocol}, ties {evaluation.ties}, {queries}, 95 % intervals"
    table = Table(title=escape(title or f"{evaluation.data}, {evaluation.split}"), caption=rule)
    table.add_column("queries")
    for each in STANDARD:
        table.add_column(HEADINGS[each.name], justify="right")
    if evaluation.before is None:
        _add_rows(table, evaluation, "{}")
        return table
    table.columns[0].header = "stage"
    _add_rows(table, evaluation.before, "1 {}")
    table.add_section()
    _add_rows(table, evaluation, "2 {}")
    return table


def reranking_table(before: Evaluation, after: Evaluation, *, k: int) -> Table:
    """What re-ranking changed: the paired test, the confusion of first places, and what the lists allow."""
    table = Table("stage 1 to stage 2", "", title_justify="left", show_header=False)
    for name, each in compare(before, after).items():
        interval = f"{each.low:+.3f} to {each.high:+.3f}"
        table.add_row(HEADINGS[name], f"{each.difference:+.4f} ({interval}), p = {each.p:.4f}")
    total = len(before.queries)
    words = {"11": "first before and after", "01": "put first", "10": "lost first place", "00": "never first"}
    counts = confusion(before, after)
    for key, word in words.items():
        table.add_row(f"{key}  {word}", f"{counts[key]:,} ({counts[key] / total:.1%})")
    for policy, values in before.recall((k,)).items():
        table.add_row(f"recall@{k}, training answers {policy}", f"{values[f'recall@{k}']:.3f}")
    if after.listed is not None:
        table.add_row("golds in the lists", f"{after.listed.mean():.3f}")
    return table


def _add_rows(table: Table, evaluation: Evaluation, label: str) -> None:
    intervals = evaluation.intervals()
    for side, values in evaluation.summary().items():
        cells = (f"{value:.3f}{_interval(intervals[side][name])}" for name, value in values.items())
        table.add_row(label.format(side), *cells)


def results_table(folder: Path, *, links: str = "../results") -> str:
    """The Markdown table of every record under a folder; `links` leads there from the page that shows it."""
    headings = [
        "data",
        "record",
        "model",
        "queries",
        *(HEADINGS[name] for name in RESULTS),
        "over Stage 1",
        "seconds",
        "target",
    ]
    rows = [_row(record, f"{links}/{path.relative_to(folder).as_posix()}") for path, record in read_records(folder)]
    align = ["---"] * 3 + ["---:"] * (len(RESULTS) + 3) + ["---"]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (headings, align, *rows)) + "\n"


def _row(record: Mapping[str, Any], link: str) -> list[str]:
    both = final(record)["both"]
    notes = [] if record["split"] == "test" else [record["split"]]
    notes += [] if record.get("protocol", "ours") == "ours" else [PROTOCOLS[record["protocol"]]]
    data = f"{record['data']} ({', '.join(notes)})" if notes else record["data"]
    name = f"[{PurePosixPath(link).stem}]({link})"
    figures = [f"{record['queries']:,}", *(f"{both[each]:.3f}" for each in RESULTS)]
    return [data, name, _model(record), *figures, _gain(record), _seconds(record), _target(record)]


def _gain(record: Mapping[str, Any]) -> str:
    """What a second stage adds to MRR and H@1."""
    found = record.get("reranking", {}).get("difference", {})
    return ", ".join(f"{each['difference']:+.3f} {HEADINGS[name]}" for name, each in found.items()) or "–"


def _model(record: Mapping[str, Any]) -> str:
    """The model and its details, such as `complex, rank 128, epochs 12`."""
    details = {key: value for key, value in record.get("details", {}).items() if key not in NOT_SHOWN}
    second = details.pop("reranker", None)
    words = [str(record.get("model", "?")), *(f"{key} {value}" for key, value in details.items())]
    if second:
        lists = f"{second['lists']:,} lists in an epoch, epochs {second['epochs']}"
        words.append(f"{second['kind']} re-ranker, k {second['k']}, {lists}")
    return ", ".join(words)


def _seconds(record: Mapping[str, Any]) -> str:
    """The seconds of everything that led to the figures, whichever run did it."""
    return f"{record['provenance']['seconds']:,.0f}"


def _target(record: Mapping[str, Any]) -> str:
    """What was to be reached, and whether it was."""
    both = final(record)["both"]
    wanted = record.get("target", {})
    parts = [f"{HEADINGS[name]} >= {value:.3f}" for name, value in wanted.items()]
    if not parts:
        return "–"
    verdict = "met" if all(both[name] >= value for name, value in wanted.items()) else "missed"
    return f"{', '.join(parts)}: {verdict}"


def _interval(ends: tuple[float, float]) -> str:
    """Half the width of an interval, without its leading zero, so that a row fits a terminal of 80 columns."""
    return f"[dim]±{(ends[1] - ends[0]) / 2:.3f}[/dim]".replace("0.", ".", 1)
