"""Where a file of proposals comes from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from cear.core.keys import content_key


@dataclass(frozen=True)
class About:
    """The completion that made proposals, as far as a reader of them needs it."""

    run: str
    """The run whose ranker was asked: its folder, its name or its IRI."""
    digest: str
    """The digest of the knowledge base that was completed."""
    version: str
    """The version of cear."""
    made: datetime
    """When the completion ended."""
    note: str = ""
    """What else a reader should know: whether models were refitted, and of which split the figures are."""
    started: datetime | None = None
    """When the completion began, where that is known."""

    @property
    def values(self) -> dict[str, str | None]:
        """All of it as values of JSON; times are written as ISO 8601 has them."""
        times = {"made": self.made.isoformat(), "started": self.started and self.started.isoformat()}
        return asdict(self) | times

    @property
    def key(self) -> str:
        """What tells this completion from all others, 32 hexadecimal digits."""
        return content_key(self.values)[:32]
