"""Facts in words, for the examples of findings."""

from __future__ import annotations

from cear.core.types import Ints
from cear.data.knowledge_base import KnowledgeBase

EXAMPLES = 5


def in_words(kb: KnowledgeBase, facts: Ints) -> tuple[str, ...]:
    """The first few facts as ⟨subject, relation, object⟩ by name."""
    entity, relation = kb.entities.name, kb.relations.name
    return tuple(f"⟨{entity(s)}, {relation(r)}, {entity(o)}⟩" for s, r, o in facts[:EXAMPLES].tolist())
