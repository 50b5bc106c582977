"""Names that are missing, shared, or all but shared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from cear.data.checks.words import EXAMPLES
from cear.data.findings import Finding, Severity
from cear.data.knowledge_base import KnowledgeBase
from cear.data.vocabulary import Vocabulary

KEY = pl.col("key")


@dataclass(frozen=True, slots=True)
class Likeness:
    """A way in which different names are alike."""

    topic: str
    severity: Severity
    words: str
    """All that they differ in."""
    coarser: pl.Expr
    """What makes it go away."""
    spell: Callable[[object], str] = repr
    """How an example is written, so that the difference is seen."""


# Each is coarser than the one before, and finds only what that one has left.
LIKENESSES = (
    Likeness("encoding-twins", "warning", "their encoding (NFC or NFD)", KEY.str.normalize("NFC"), spell=ascii),
    Likeness("blank-twins", "warning", "blanks", KEY.str.replace_all(r"\s+", " ").str.strip_chars()),
    Likeness("case-twins", "info", "letter case", KEY.str.to_lowercase()),
    Likeness("punctuation-twins", "info", "punctuation and blanks", KEY.str.replace_all(r"[\p{P}\s]+", "")),
)


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


def blanks(kb: KnowledgeBase) -> Iterator[Finding]:
    """Names that begin or end with a blank, which nobody sees."""
    for vocabulary, plural in ((kb.entities, "entities"), (kb.relations, "relations")):
        names = vocabulary.table["name"]
        padded = names.filter(names != names.str.strip_chars())
        if len(padded):
            message = f"The names of {len(padded):,} {plural} begin or end with a blank; remove it."
            yield Finding("blanks-in-names", "warning", message, len(padded), tuple(map(repr, padded[:EXAMPLES])))


def twins(kb: KnowledgeBase) -> Iterator[Finding]:
    """Different names that look alike: one thing may stand here twice, with its facts parted between the two."""
    for vocabulary, plural in ((kb.entities, "entities"), (kb.relations, "relations")):
        names = vocabulary.table.select("name", key="name").unique(maintain_order=True)
        for likeness in LIKENESSES:
            names = names.with_columns(likeness.coarser.alias("key"), finer="key")
            yield from _twins(names, plural, likeness)


def _twins(names: pl.DataFrame, plural: str, likeness: Likeness) -> Iterator[Finding]:
    """Names that have just become alike: those of one key that had several, finer ones."""
    alike = names.filter((KEY != "") & KEY.is_duplicated()).group_by("key", maintain_order=True)
    groups = alike.agg("name", pl.col("finer").n_unique()).filter(pl.col("finer") > 1)
    if groups.is_empty():
        return
    count = int(groups["name"].list.len().sum())
    message = f"{count:,} names of {plural} are those of others but for {likeness.words}: do they mean the same?"
    examples = tuple(" / ".join(map(likeness.spell, these[:3])) for these in groups["name"][:EXAMPLES].to_list())
    yield Finding(likeness.topic, likeness.severity, message, count, examples)


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
