"""Names that are missing or shared."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from cear.data.checks.words import EXAMPLES
from cear.data.findings import Finding, Severity
from cear.data.knowledge_base import KnowledgeBase
from cear.data.vocabulary import Vocabulary


def unnamed(kb: KnowledgeBase) -> Iterator[Finding]:
    """Entities and relations that are called by their id for want of a name."""
    yield from _unnamed(kb.entities, "entities")
    yield from _unnamed(kb.relations, "relations")


def namesakes(kb: KnowledgeBase) -> Iterator[Finding]:
    """Entities that share a name with another: they must be asked for by id, and text cannot tell them apart."""
    shared = kb.entities.table.filter(pl.col("name").is_duplicated())
    if shared.is_empty():
        return
    groups = shared.group_by("name", maintain_order=True).agg("id")
    groups = groups.sort(pl.col("id").list.len(), descending=True, maintain_order=True)
    examples = tuple(f"{name} ({', '.join(ids[:3])})" for name, ids in groups.head(EXAMPLES).iter_rows())
    message = f"{shared.height:,} entities share {groups.height:,} names; ask for them by id."
    yield Finding("shared-names", "warning", message, shared.height, examples)


def _unnamed(vocabulary: Vocabulary, plural: str) -> Iterator[Finding]:
    nameless = vocabulary.table.filter(pl.col("name") == pl.col("id"))
    if nameless.is_empty():
        return
    # Where ids are words, as in a file of names, each is its own name; ids of relations often are.
    every = nameless.height == len(vocabulary)
    severity: Severity = "info" if every or plural == "relations" else "warning"
    which = f"All {nameless.height:,}" if every else f"{nameless.height:,} of {len(vocabulary):,}"
    message = f"{which} {plural} have no name beside their id, which is shown instead."
    yield Finding(f"unnamed-{plural}", severity, message, nameless.height, tuple(nameless["id"][:EXAMPLES]))
