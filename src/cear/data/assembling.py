"""From facts in words to a knowledge base in integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from cear.data.draft import FACT, TEXT, Draft
from cear.data.knowledge_base import KnowledgeBase
from cear.data.vocabulary import SCHEMA, Kind, Vocabulary
from cear.nouns import SPLITS, Ints, Split


@dataclass(frozen=True, slots=True, eq=False)
class Assembled:
    """A knowledge base, and how much had to be left out of it."""

    kb: KnowledgeBase
    duplicate_facts: int
    unused_texts: int


def assemble(draft: Draft, name: str) -> Assembled:
    """The knowledge base of a draft: integers by first appearance, each fact once a split, texts attached."""
    entity_ids, relation_ids = draft.entity_ids, draft.relation_ids
    if entity_ids is None:
        entity_ids = by_appearance(draft.splits, "subject", "object")
    if relation_ids is None:
        relation_ids = by_appearance(draft.splits, "relation")
    encoded = {split: encode(facts, entity_ids, relation_ids) for split, facts in draft.splits.items()}
    limits = (len(entity_ids), len(relation_ids))
    distinct = {split: _distinct(facts, *limits) for split, facts in encoded.items()}
    entities = _vocabulary("entity", entity_ids, draft.entity_texts)
    relations = _vocabulary("relation", relation_ids, draft.relation_texts)
    return Assembled(
        KnowledgeBase(name, entities, relations, distinct),
        sum(len(encoded[split]) - len(distinct[split]) for split in encoded) + draft.duplicate_facts,
        _unused(entity_ids, draft.entity_texts) + _unused(relation_ids, draft.relation_texts),
    )


def encode(facts: pl.DataFrame, entity_ids: pl.Series, relation_ids: pl.Series) -> Ints:
    """Facts in words as integers, (fact, 3): places in these two lists of distinct ids."""
    entity, relation = pl.Enum(entity_ids), pl.Enum(relation_ids)
    encoded = np.empty((facts.height, 3), np.int64)
    for index, (column, kind) in enumerate(zip(FACT, (entity, relation, entity), strict=True)):
        encoded[:, index] = facts[column].cast(kind).to_physical().to_numpy()
    return encoded


def by_appearance(splits: Mapping[Split, pl.DataFrame], *columns: str) -> pl.Series:
    """The distinct values of these columns by where they first stand: split, then row, then column."""
    firsts = [
        splits[split]
        .lazy()
        .select(pl.col(column).alias("id"), pl.int_range(pl.len()).alias("row"))
        .group_by("id")
        .agg(pl.col("row").min())
        .with_columns(split=pl.lit(number), column=pl.lit(place))
        for number, split in enumerate(SPLITS)
        if split in splits
        for place, column in enumerate(columns)
    ]
    seen = pl.concat(firsts).sort("split", "row", "column")
    return seen.unique("id", keep="first", maintain_order=True).collect()["id"]


def _distinct(facts: Ints, n_entities: int, n_relations: int) -> Ints:
    """Each fact once, where it first stands."""
    if n_entities**2 * n_relations < 2**63:
        s, r, o = facts.T
        first = pl.Series((r * n_entities + s) * n_entities + o).is_first_distinct()
    else:  # three numbers do not fit in one
        first = pl.DataFrame(facts, schema=list(FACT)).select(pl.struct(FACT).is_first_distinct()).to_series()
    return np.ascontiguousarray(facts[first.to_numpy()])


def _vocabulary(kind: Kind, ids: pl.Series, texts: pl.DataFrame | None) -> Vocabulary:
    table = pl.DataFrame({"id": ids})
    if texts is None:
        texts = pl.DataFrame(schema=dict.fromkeys(TEXT, pl.String))
    table = table.join(texts, on="id", how="left", maintain_order="left")
    table = table.with_columns(
        name=pl.col("name").fill_null(pl.col("id")), mentions=pl.lit(None, dtype=SCHEMA["mentions"])
    )
    return Vocabulary(kind, table.select(SCHEMA.names()))


def _unused(ids: pl.Series, texts: pl.DataFrame | None) -> int:
    """How many texts speak of something that no fact names."""
    return 0 if texts is None else texts.join(pl.DataFrame({"id": ids}), on="id", how="anti").height
