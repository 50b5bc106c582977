"""Facts of valid and test that can be read off a training fact of a look-alike relation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cear.core.types import SPLITS, Split
from cear.data.checks.splits import HELD_OUT
from cear.data.checks.words import EXAMPLES, in_words
from cear.data.findings import Finding, Severity
from cear.data.knowledge_base import KnowledgeBase
from cear.data.relation_shapes import Lookalikes, lookalikes, readable_from

WORTH_A_WARNING = 0.01  # the share of a split's facts that training may give away unremarked

Pairs = tuple[tuple[int, int], ...]


def leaks(kb: KnowledgeBase) -> Iterator[Finding]:
    """Look-alike relations, and how many facts of valid and test each kind gives away."""
    found = lookalikes(np.concatenate([kb.facts(split) for split in SPLITS]))
    yield from _relations(kb, found)
    kinds: tuple[tuple[str, Pairs, bool], ...] = (
        ("duplicate", found.duplicates, False),
        ("inverse", found.inverses, True),
        ("symmetric", tuple((relation, relation) for relation in found.symmetric), True),
    )
    for split in HELD_OUT:
        for kind, pairs, turned in kinds:
            yield from _given_away(kb, split, kind, pairs, turned=turned)


def _relations(kb: KnowledgeBase, found: Lookalikes) -> Iterator[Finding]:
    name = kb.relations.name
    for kind, pairs in (("duplicate", found.duplicates), ("inverse", found.inverses)):
        if pairs:
            examples = tuple(f"{name(first)} / {name(second)}" for first, second in pairs[:EXAMPLES])
            message = f"{len(pairs):,} pairs of relations are (nearly) {kind} to each other."
            yield Finding(f"{kind}-relations", "info", message, len(pairs), examples)
    if found.symmetric:
        examples = tuple(name(relation) for relation in found.symmetric[:EXAMPLES])
        message = f"{len(found.symmetric):,} relations are (nearly) symmetric."
        yield Finding("symmetric-relations", "info", message, len(found.symmetric), examples)


def _given_away(kb: KnowledgeBase, split: Split, kind: str, pairs: Pairs, *, turned: bool) -> Iterator[Finding]:
    given = readable_from(kb.facts(split), kb.facts("train"), pairs, turned=turned)
    if not len(given):
        return
    share = len(given) / len(kb.facts(split))
    severity: Severity = "warning" if share >= WORTH_A_WARNING else "info"
    message = f"{len(given):,} {split} facts ({share:.1%}) can be read off train through {kind} relations."
    yield Finding(f"{kind}-leak", severity, message, len(given), in_words(kb, given))
