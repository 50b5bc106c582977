"""Things that have several mentions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cear.data.checks.words import EXAMPLES
from cear.data.findings import Finding
from cear.data.knowledge_base import KnowledgeBase


def several_mentions(kb: KnowledgeBase) -> Iterator[Finding]:
    """Things with more than one mention: any of them counts as the answer where a fact means the thing."""
    if kb.mentions is None:
        return
    several = np.flatnonzero(kb.mentions.members.counts > 1)
    largest = several[np.argsort(-kb.mentions.members.counts[several], kind="stable")][:EXAMPLES]
    examples = tuple(_names(kb, thing) for thing in largest.tolist())
    message = f"{len(several):,} things have several mentions, each of which counts as the answer."
    yield Finding("mentions", "info", message, len(several), examples)


def _names(kb: KnowledgeBase, thing: int) -> str:
    assert kb.mentions is not None
    members = kb.mentions.members.row(thing).tolist()
    return " = ".join(kb.entities.name(entity) for entity in members[:EXAMPLES])
