"""Model cards: what a run or its re-ranker is, what it was made with, what was measured, and how it is loaded.

A card is the README.md of a folder in the manner of Hugging Face: YAML between two lines of dashes, then Markdown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from cear.evaluation import Intervals, Summary
from cear.reports.records import Record
from cear.texts import EMBEDDED

_HEADINGS = {"mrr": "MRR", "hits@1": "H@1", "hits@3": "H@3", "hits@10": "H@10"}
_EMBEDDED_ON_THE_HUB = "sentence-transformers/all-MiniLM-L6-v2"

_LOAD_RUN = """\
import cear

run = cear.open_run("RUN")
print(run.evaluate("{split}").summary()["both"])
"""
_LOAD_RERANKER = """\
from pathlib import Path

import cear
from cear.reranking import Upstream, load_reranker

kb = cear.load({data!r})
reranker = load_reranker(Path("FOLDER"), Upstream(kb, {extra!r}))
"""
_LOAD_RERANKER_WITH_VECTORS = """\
from pathlib import Path

import cear
from cear.reranking import load_reranker

run = cear.open_run("RUN")  # it reads the vectors of a Stage 1 of this run
reranker = load_reranker(Path("FOLDER"), run.plan.upstream)
"""


_LIMITS = """\
- Scores put candidates in order. They are no probabilities.
- A fact that is true and that no split has counts as wrong, so the figures are lower bounds.
- Figures are those of one training on one split; intervals do not tell how another seed would do.
- No licence is given here: those of the data and of the base model apply.
"""


def run_card(record: Record) -> str:
    """The card of a whole run."""
    what = (
        "A system that completes a knowledge base: it ranks every entity as the answer of ⟨s, r, ?⟩ and of ⟨?, r, o⟩."
    )
    return _card(record, what, _LOAD_RUN.format(split=record.split), _LIMITS)


def reranker_card(record: Record, *, reads_vectors: bool) -> str:
    """The card of a run's re-ranker; one that reads the vectors of a Stage 1 is loaded with the run."""
    config = record.provenance.config
    k, kind = config["candidates"]["k"], config["reranker"]["kind"]
    what = f"A re-ranker (`kind: {kind}`): it reads a query with its best {k} candidates and scores each of them."
    load = _LOAD_RERANKER_WITH_VECTORS if reads_vectors else _LOAD_RERANKER
    code = load.format(data=record.data, extra=[*config["candidates"]["extra_retrievers"]])
    lists = "- It has learned from lists of the retrievers below; those of others may be unlike them.\n"
    return _card(record, what, code, lists + _LIMITS)


def _card(record: Record, what: str, load: str, limits: str) -> str:
    """A card from its parts."""
    return f"""---
{yaml.safe_dump(_front_matter(record), sort_keys=False, allow_unicode=True)}---

# {_title(record)}

{what} Made with `cear` {record.provenance.versions["cear"]}.

## Data

`{record.data}`, digest `{record.provenance.digest}`.{_lists(record)}

## Figures

{_figures(record)}

Filtered: other known answers of {record.split} and of the splits before it are not in the ranking. Ties: {record.ties}.
{record.queries:,} queries, both questions of each {record.split} fact; none is left out. In brackets: 95 %
intervals, by resampling distinct queries.

## Settings

```yaml
{yaml.safe_dump(dict(record.provenance.config), sort_keys=False, allow_unicode=True)}```

## Cost

{_cost(record)}

## How to load it

```python
{load}```

## Limits

{limits}"""


def _front_matter(record: Record) -> dict[str, Any]:
    base = _base_model(record.provenance.config)
    return {
        "license": "other",
        "license_name": "those-of-the-data-and-the-base-model",
        "library_name": "cear",
        "tags": ["knowledge-base-completion", "link-prediction", "knowledge-graph", "re-ranking"],
        **({} if base is None else {"base_model": base}),
        "datasets": [record.data],
        "metrics": [*_HEADINGS],
    }


def _base_model(config: Mapping[str, Any]) -> str | None:
    """The pretrained encoder that a re-ranker reads texts with, by its name on the hub."""
    second = config["reranker"]
    if second is None or second.get("text") is False:
        return None
    return _EMBEDDED_ON_THE_HUB if second["encoder"] == EMBEDDED else str(second["encoder"])


def _title(record: Record) -> str:
    second = record.provenance.config["reranker"]
    stages = [record.model] if second is None else [record.model, second["kind"]]
    return f"{' and '.join(stages)} on {record.data}"


def _lists(record: Record) -> str:
    """What a second stage has learned from, and what its lists allow; nothing where there is none."""
    second = record.details.get("reranker")
    if second is None:
        return ""
    return (
        f" The re-ranker has learned from {second['lists_with_answers']:,} lists of {second['k']} candidates that hold "
        f"a training answer; {record.reranking['listed']:.1%} of the lists that it was measured on hold the gold."
    )


def _figures(record: Record) -> str:
    rows = _rows("Stage 1, {}" if record.stage2 else "{}", record.stage1, record.intervals)
    if record.stage2:
        rows += _rows("re-ranked, {}", record.stage2, record.reranking["intervals"])
    headings = ["queries", *_HEADINGS.values()]
    lines = (headings, ["---"] + ["---:"] * len(_HEADINGS), *rows)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _rows(label: str, figures: Summary, intervals: Intervals) -> list[list[str]]:
    return [
        [label.format(side), *(_cell(figures[side][name], *intervals[side][name]) for name in _HEADINGS)]
        for side in figures
    ]


def _cell(value: float, low: float, high: float) -> str:
    return f"{value:.4f} [{low:.4f}, {high:.4f}]"


def _cost(record: Record) -> str:
    made = record.provenance
    steps = "\n".join(f"- {step['name']}: {step['seconds']:,.0f} s" for step in made.steps)
    return f"{made.seconds:,.0f} seconds of wall clock on {made.threads} threads of {made.cpu}:\n\n{steps}"
