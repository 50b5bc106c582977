"""What a reader hands on: facts and texts as the files have them, ids still text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import polars as pl

from cear.data.lines import BadLine
from cear.errors import ConfigError
from cear.nouns import Split

FACT = ("subject", "relation", "object")
TEXT = ("id", "name", "description")

TextRule = Literal["name", "name, description"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How files are read. Defaults live here."""

    text: TextRule = "name"
    """What a line of entity2text holds: a name, or a name and a description parted by the first comma and space."""

    skip_bad_lines: bool = False
    """Leave out and count lines that do not fit, rather than refuse the file."""

    seed: int = 0
    """Decides the split of facts that come in one file."""

    valid_share: float = 0.05
    """The share of such facts that goes to valid."""

    test_share: float = 0.05
    """The share of such facts that goes to test."""

    def __post_init__(self) -> None:
        if self.text not in get_args(TextRule):
            raise ConfigError(f"No text rule is called {self.text!r}. Known: {list(get_args(TextRule))}.")
        shares = (self.valid_share, self.test_share)
        if min(shares) < 0 or sum(shares) >= 1:
            raise ConfigError(
                f"valid_share and test_share are {shares}; expected shares of all facts that leave some for train."
            )


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A knowledge base before its ids are integers."""

    splits: Mapping[Split, pl.DataFrame]  # columns FACT, all text
    entity_texts: pl.DataFrame | None = None  # columns TEXT; ids distinct, name or description may be null
    relation_texts: pl.DataFrame | None = None
    entity_ids: pl.Series | None = None
    """The entities in the order of their integers, where the data itself fixes it."""
    relation_ids: pl.Series | None = None
    skipped: tuple[BadLine, ...] = ()
    duplicate_facts: int = 0
    """Repeated facts that the reader itself has dropped already."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """What was understood and left out on purpose, with counts."""
