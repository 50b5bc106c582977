"""The log of a review as facts that people judged: one decision a line of JSON, and the last about a fact counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from cear.core.errors import DataError
from cear.core.files import parse_json
from cear.core.reading import reading
from cear.data.draft import FACT
from cear.data.lines import LINE

TRUTH = "truth"
VERDICTS: dict[str, bool | None] = {"accepted": True, "rejected": False, "skipped": None, "undone": None}
"""What a verdict says of a fact; None says nothing."""


def read_decided(path: Path) -> pl.DataFrame:
    """The facts that a log accepts or rejects: subject, relation, object, truth, and the line of the last decision."""
    with reading(path), path.open("rb") as lines:
        last = {fact: (number, verdict) for number, fact, verdict in _decisions(lines, path)}
    rows = [(*fact, number, truth) for fact, (number, said) in last.items() if (truth := VERDICTS[said]) is not None]
    schema = {**dict.fromkeys(FACT, pl.String), LINE: pl.Int64, TRUTH: pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _decisions(lines: Any, path: Path) -> Iterator[tuple[int, tuple[str, ...], str]]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, *_decision(line, f"{path}, line {number}")


def _decision(line: bytes, where: str) -> tuple[tuple[str, ...], str]:
    """The fact of a line and its verdict."""
    try:
        values = parse_json(line.decode())
        fact, verdict = tuple(values[part] for part in FACT), values["verdict"]
    except (ValueError, LookupError, TypeError) as error:
        raise DataError(f"{where} is no decision: {error}. Each line is one of `cear decisions log`.") from None
    if verdict not in VERDICTS or not all(isinstance(part, str) for part in fact):
        raise DataError(f"{where} is no decision: expected texts and a verdict of {', '.join(VERDICTS)}.")
    return fact, verdict
