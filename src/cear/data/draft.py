"""What a reader hands on: facts and texts as the files have them, ids still text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import polars as pl

from cear.core.errors import ConfigError
from cear.core.types import Split
from cear.data.columns import Columns
from cear.data.lines import BadLine
from cear.data.rdf_rules import RdfRules

FACT = ("subject", "relation", "object")
TEXT = ("id", "name", "description")

TextRule = Literal["name", "name, description"]
Variant = Literal["thorough", "basic", "simple"]


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

    variant: Variant = "thorough"
    """Which training file of OLPBENCH is read: how much that gives test facts away was removed from it."""

    columns: Columns | None = None
    """Which columns of files of facts hold subject, relation and object; None goes by their header or their order."""

    rdf: RdfRules = field(default_factory=RdfRules)
    """What the statements of RDF are taken for."""

    def __post_init__(self) -> None:
        if self.text not in get_args(TextRule):
            raise ConfigError(f"No text rule is called {self.text!r}. Known: {list(get_args(TextRule))}.")
        if self.variant not in get_args(Variant):
            raise ConfigError(
                f"No training file of OLPBENCH is called {self.variant!r}. Known: {list(get_args(Variant))}."
            )
        shares = (self.valid_share, self.test_share)
        if min(shares) < 0 or sum(shares) >= 1:
            raise ConfigError(
                f"valid_share and test_share are {shares}; expected shares of all facts that leave some for train."
            )


@dataclass(frozen=True, slots=True, eq=False)
class DraftMentions:
    """What a reader knows of things that have several mentions."""

    members: pl.DataFrame  # columns "thing" (0, 1, 2, …) and "id" (text): the mentions of each thing
    ends: Mapping[Split, pl.DataFrame]
    """Columns "subject" and "object": the thing that each fact means there, null for what has one name only."""


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A knowledge base before its ids are integers."""

    splits: Mapping[Split, pl.DataFrame]  # columns FACT, all text
    entity_texts: pl.DataFrame | None = None  # columns TEXT; ids distinct, name or description may be null
    relation_texts: pl.DataFrame | None = None
    entity_aliases: pl.DataFrame | None = None  # columns "id" and "alias": what else entities are called
    relation_aliases: pl.DataFrame | None = None
    entity_ids: pl.Series | None = None
    """The entities in the order of their integers, where the data itself fixes it."""
    relation_ids: pl.Series | None = None
    mentions: DraftMentions | None = None
    types: pl.DataFrame | None = None  # columns "id" and "type", a row for each type that the data says of an entity
    typed_by: str | None = None
    """The relation by which facts say what type their subject has, where they do."""
    skipped: tuple[BadLine, ...] = ()
    duplicate_facts: int = 0
    """Repeated facts that the reader itself has dropped already."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """What was understood and left out on purpose, with counts."""
    left_out_examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Some of what was left out, by the same words."""
    header: str | None = None
    """The words of the first line, read as a fact, where they look like names of columns."""
