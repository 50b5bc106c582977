"""From facts in words to a knowledge base in integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from cear.core.types import SPLITS, Bools, Ints, Ragged, Split
from cear.data.draft import FACT, TEXT, Draft, DraftMentions
from cear.data.entity_types import Types
from cear.data.knowledge_base import KnowledgeBase
from cear.data.mentions import ONE_NAME, Mentions
from cear.data.numbering import NO_NUMBER, Numbered, as_given, by_appearance, places
from cear.data.type_facts import types_of_facts
from cear.data.vocabulary import SCHEMA, Kind, Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Assembled:
    """A knowledge base, and how much had to be left out of it."""

    kb: KnowledgeBase
    duplicate_facts: int
    unused_texts: int
    unused_mentions: int
    unused_types: int


def assemble(draft: Draft, name: str) -> Assembled:
    """The knowledge base of a draft: integers by first appearance, each fact once a split, texts attached."""
    splits = {split: draft.splits[split] for split in SPLITS if split in draft.splits}
    entities = _numbered(splits, draft.entity_ids, "subject", "object")
    relations = _numbered(splits, draft.relation_ids, "relation")
    facts = {split: np.insert(ends, 1, relations.columns[split].T, axis=1) for split, ends in entities.columns.items()}
    firsts = {split: _firsts(each, len(entities), len(relations)) for split, each in facts.items()}
    kb = KnowledgeBase(
        name,
        _vocabulary("entity", entities.words, draft.entity_texts, draft.entity_aliases),
        _vocabulary("relation", relations.words, draft.relation_texts, draft.relation_aliases),
        {split: each[firsts[split]] for split, each in facts.items()},
        None if draft.mentions is None else _mentions(draft.mentions, entities, firsts),
    )
    return Assembled(
        _typed(kb, draft),
        sum(int((~first).sum()) for first in firsts.values()) + draft.duplicate_facts,
        _unused(entities.words, draft.entity_texts) + _unused(relations.words, draft.relation_texts),
        0 if draft.mentions is None else _unused(entities.words, draft.mentions.members.unique("id")),
        unused_types(draft.types, entities.words),
    )


def _numbered(splits: Mapping[Split, pl.DataFrame], given: pl.Series | None, *columns: str) -> Numbered:
    return by_appearance(splits, *columns) if given is None else as_given(given, splits, *columns)


def _firsts(facts: Ints, n_entities: int, n_relations: int) -> Bools:
    """Which facts have not stood before, (fact,)."""
    if n_entities**2 * n_relations < 2**63:
        s, r, o = facts.T
        packed = (r * n_entities + s) * n_entities + o
        ordered = np.sort(packed)
        if (ordered[1:] != ordered[:-1]).all():  # the usual case, and sorting is the quickest way to know
            return np.ones(len(facts), bool)
        first = pl.Series(packed).is_first_distinct()
    else:  # three numbers do not fit in one
        first = pl.DataFrame(facts, schema=list(FACT)).select(pl.struct(FACT).is_first_distinct()).to_series()
    firsts: Bools = first.to_numpy()
    return firsts


def _mentions(draft: DraftMentions, entities: Numbered, firsts: Mapping[Split, Bools]) -> Mentions:
    """The things of a draft with those of their mentions that some fact names, linked to the facts that are kept."""
    table = draft.members.select("thing", entity=pl.Series(places(draft.members["id"], entities.words)))
    table = table.filter(pl.col("entity") != NO_NUMBER).unique().sort("thing", "entity")
    n_things = draft.members["thing"].n_unique()
    members = Ragged.grouped(table["thing"].to_numpy(), table["entity"].to_numpy(), n_things)
    ends = {
        split: links.select(pl.col("subject", "object").fill_null(ONE_NAME).cast(pl.Int64)).to_numpy()[firsts[split]]
        for split, links in draft.ends.items()
    }
    return Mentions(members, ends)


def _typed(kb: KnowledgeBase, draft: Draft) -> KnowledgeBase:
    if draft.types is not None:
        return kb.with_types(types_of(draft.types, kb.entities.table["id"]))
    return kb if draft.typed_by is None else kb.with_types(types_of_facts(kb, draft.typed_by))


def types_of(pairs: pl.DataFrame, ids: pl.Series) -> Types | None:
    """The types of entities by pairs of "id" and "type", types by the alphabet; None when no entity has one."""
    pairs = pairs.with_columns(entity=pl.Series(places(pairs["id"], ids))).filter(pl.col("entity") != NO_NUMBER)
    names = pairs["type"].unique().sort()
    if names.is_empty():
        return None
    return Types.of_pairs(tuple(names), pairs["entity"].to_numpy(), places(pairs["type"], names), len(ids))


def unused_types(pairs: pl.DataFrame | None, ids: pl.Series) -> int:
    """How many ids have types but stand in no fact."""
    return 0 if pairs is None else _unused(ids, pairs.unique("id"))


def _vocabulary(kind: Kind, ids: pl.Series, texts: pl.DataFrame | None, aliases: pl.DataFrame | None) -> Vocabulary:
    table = pl.DataFrame({"id": ids})
    if texts is None:
        texts = pl.DataFrame(schema=dict.fromkeys(TEXT, pl.String))
    table = table.join(texts, on="id", how="left", maintain_order="left")
    table = table.with_columns(name=pl.col("name").fill_null(pl.col("id")))
    return Vocabulary(kind, table.select(SCHEMA.names()), None if aliases is None else _aliases(aliases, ids))


def _aliases(aliases: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """The aliases of those that have an integer, by this."""
    table = aliases.select("alias", index=pl.Series(places(aliases["id"], ids)))
    return table.filter(pl.col("index") != NO_NUMBER).sort("index", "alias")


def _unused(ids: pl.Series, texts: pl.DataFrame | None) -> int:
    """How many texts speak of something that no fact names."""
    return 0 if texts is None else texts.join(pl.DataFrame({"id": ids}), on="id", how="anti").height
