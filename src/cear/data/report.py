"""What happened while a knowledge base was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from cear.data.knowledge_base import KnowledgeBase


@dataclass(frozen=True, slots=True)
class ReadReport:
    """What was left out while reading, in counts, so that a check can tell."""

    layout: str
    skipped_lines: int = 0
    skipped_examples: tuple[str, ...] = ()
    duplicate_facts: int = 0
    unused_texts: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    left_out_examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    header: str | None = None
    """The first line, which was read as a fact, where it looks like names of columns."""

    def to_json(self) -> dict[str, Any]:
        """The report as a value for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ReadReport:
        """The report that `to_json` wrote."""
        examples = {what: tuple(some) for what, some in value["left_out_examples"].items()}
        return cls(**{**value, "skipped_examples": tuple(value["skipped_examples"]), "left_out_examples": examples})


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A knowledge base and the report of its reading."""

    kb: KnowledgeBase
    report: ReadReport
