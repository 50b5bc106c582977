"""What is in a knowledge base, and what is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cear.core.types import SPLITS
from cear.data.checks.leaks import leaks
from cear.data.checks.mentions import several_mentions
from cear.data.checks.names import blanks, namesakes, twins, unnamed
from cear.data.checks.splits import empty_splits, repeated_facts, shared_facts, unseen
from cear.data.checks.types import typed
from cear.data.findings import Finding, Findings
from cear.data.knowledge_base import KnowledgeBase
from cear.data.reading import read
from cear.data.relation_shapes import CARDINALITIES, cardinalities
from cear.data.report import ReadReport

CHECKS: tuple[Callable[[KnowledgeBase], Iterator[Finding]], ...] = (
    empty_splits,
    repeated_facts,
    unnamed,
    namesakes,
    blanks,
    twins,
    shared_facts,
    unseen,
    several_mentions,
    typed,
    leaks,
)


def check_source(source: str | Path, **options: Any) -> Findings:
    """The findings about a named data set or a path; the options are those of `read`."""
    reading = read(source, **options)
    return check(reading.kb, reading.report)


def check(kb: KnowledgeBase, report: ReadReport | None = None) -> Findings:
    """The findings about a knowledge base, with what its reading left out if there is a report of it."""
    found = [*(_left_out(report) if report else ()), *(finding for look in CHECKS for finding in look(kb))]
    kinds = Counter(cardinalities(kb.facts("train")).values())
    return Findings(
        data=kb.name,
        digest=kb.digest,
        layout=report.layout if report else None,
        entities=kb.n_entities,
        relations=kb.n_relations,
        facts={split: len(kb.facts(split)) for split in SPLITS},
        median_degree=_median_degree(kb),
        cardinalities={kind: kinds[kind] for kind in CARDINALITIES},
        findings=tuple(found),
    )


def _median_degree(kb: KnowledgeBase) -> float:
    degrees = np.bincount(kb.facts("train")[:, [0, 2]].ravel(), minlength=kb.n_entities)
    return float(np.median(degrees)) if len(degrees) else 0.0


def _left_out(report: ReadReport) -> Iterator[Finding]:
    skipped, repeated, unused = report.skipped_lines, report.duplicate_facts, report.unused_texts
    if skipped:
        message = f"{skipped:,} bad lines were skipped."
        yield Finding("skipped-lines", "warning", message, skipped, report.skipped_examples)
    if repeated:
        message = f"{repeated:,} facts were repeated within their split or file and were kept once."
        yield Finding("duplicate-facts", "info", message, repeated)
    if unused:
        message = f"{unused:,} texts speak of something that no fact names, and were left out."
        yield Finding("unused-texts", "info", message, unused)
    if report.header is not None:
        message = (
            "Is the first line a header? It was read as a fact, but no word of it stands in another line. "
            "If it names the columns, call them subject, relation and object, or remove it."
        )
        yield Finding("header-line", "warning", message, 1, (report.header,))
    for what, count in report.left_out.items():
        if count:
            examples = report.left_out_examples.get(what, ())
            yield Finding("left-out", "info", f"{count:,} {what} were left out.", count, examples)
