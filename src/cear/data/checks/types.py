"""Types of entities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cear.data.checks.words import EXAMPLES
from cear.data.findings import Finding
from cear.data.knowledge_base import KnowledgeBase


def typed(kb: KnowledgeBase) -> Iterator[Finding]:
    """How many types there are and how many entities have one, with the most frequent types."""
    if kb.types is None:
        return
    n_typed, n_types = int((kb.types.of_entity.counts > 0).sum()), len(kb.types.names)
    frequency = np.bincount(kb.types.of_entity.values, minlength=n_types)
    most = np.argsort(-frequency, kind="stable")[:EXAMPLES].tolist()
    examples = tuple(f"{kb.types.names[kind]} ({frequency[kind]:,})" for kind in most)
    share = n_typed / max(kb.n_entities, 1)
    message = f"{n_types:,} types; {n_typed:,} of {kb.n_entities:,} entities ({share:.1%}) have one or more."
    yield Finding("types", "info", message, n_types, examples)
