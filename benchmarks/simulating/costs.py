"""What each kind of work costs on the machine of the records, with both of its processors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cear.core.files import read_json

RECORDS = Path("results/benchmarks")
MILLION = 1e6


@dataclass(frozen=True)
class Costs:
    """Seconds of one machine of two processors; entities are those of the records unless a cost says otherwise."""

    entities: int
    """Of the knowledge base that all this was measured on."""
    read_million_facts: float
    train_million_facts: float
    """ExtremeText, one epoch, both sides."""
    search_million_queries: float
    """The best 50 in the label trees; measured on one processor, halved."""
    rerank_thousand_lists: float
    """The embedded encoder, lists of 40."""
    search_vectors_million_queries: float
    """The exact best 50 among the vectors of all entities, which nothing below uses: what it would be without trees."""
    bytes_of_a_fact: float
    """Peak of memory while facts are read."""

    def as_json(self) -> dict[str, Any]:
        """The costs as a value of JSON."""
        return asdict(self)


def measured(records: Path = RECORDS) -> Costs:
    """The costs that the records tell."""
    size, exact, answering = (
        read_json(records / f"{name}.json") for name in ("olpbench_size", "exact_search", "answering")
    )
    steps, facts = size["steps"], size["sizes"]["facts"]["train"]
    read, train = steps["read from text and keep"], steps["train ExtremeText, both sides"]
    trees = steps["best 50 in the trees, one core"]
    return Costs(
        entities=size["sizes"]["entities"],
        read_million_facts=read["seconds"] / facts * MILLION,
        train_million_facts=train["seconds"] / facts * MILLION,
        search_million_queries=trees["seconds"] / trees["queries"] * MILLION / 2,
        rerank_thousand_lists=answering["ours"]["seconds"] / answering["queries"] * 1000,
        search_vectors_million_queries=exact["search_seconds"] / exact["queries"] * MILLION,
        bytes_of_a_fact=read["peak_gib"] * 2**30 / facts,
    )
