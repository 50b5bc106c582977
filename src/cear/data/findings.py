"""What a check of a knowledge base found, in numbers and examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from cear.core.types import Split
from cear.data.relation_shapes import Cardinality

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")  # worse ones last


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth knowing about a knowledge base."""

    topic: str
    """A stable word for it, such as `shared-facts`."""
    severity: Severity
    message: str
    count: int
    examples: tuple[str, ...] = ()
    """A few of them, by name."""


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a check found, after what the knowledge base is."""

    data: str
    digest: str
    layout: str | None
    entities: int
    relations: int
    facts: Mapping[Split, int]
    median_degree: float
    """The median number of training facts that an entity takes part in."""
    cardinalities: Mapping[Cardinality, int]
    """How many relations have each cardinality, by the training facts."""
    findings: tuple[Finding, ...]

    @property
    def worst(self) -> Severity | None:
        """The gravest severity among the findings, or None without findings."""
        found = {finding.severity for finding in self.findings}
        return max(found, key=SEVERITIES.index, default=None)

    def about(self, topic: str) -> tuple[Finding, ...]:
        """The findings on one topic."""
        return tuple(finding for finding in self.findings if finding.topic == topic)

    def to_json(self) -> dict[str, Any]:
        """The findings as a value for JSON."""
        return asdict(self)
