"""CaRe's open knowledge bases (ReVerb45K, ReVerb20K): phrases with ids, and gold clusters of noun phrases."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cear.core.types import SPLITS
from cear.data.draft import FACT, Draft, DraftMentions, ReadOptions
from cear.data.readers.clusters import read_clusters
from cear.data.readers.numbered import read_facts, read_ids

VOCABULARIES = ("ent2id.txt", "rel2id.txt")
CLUSTERS = "gold_npclust.txt"


def recognises(path: Path) -> bool:
    """Whether this is a folder with CaRe's ids and training facts."""
    return all((path / name).is_file() for name in (*VOCABULARIES, "train_trip.txt"))


def read(path: Path, options: ReadOptions) -> Draft:
    """The facts of a CaRe folder; phrases keep their integers, and a gold cluster is one thing with its mentions."""
    skip = options.skip_bad_lines
    entities, relations = (read_ids(path / name) for name in VOCABULARIES)
    files = {split: path / f"{split}_trip.txt" for split in SPLITS if (path / f"{split}_trip.txt").is_file()}
    facts = {split: read_facts(file, FACT, entities, relations, skip_bad_lines=skip) for split, file in files.items()}
    there = (path / CLUSTERS).is_file()
    clusters = read_clusters(path / CLUSTERS, entities, skip_bad_lines=skip) if there else None
    splits = {split: table.rows.select(FACT) for split, table in facts.items()}
    mentions = (
        DraftMentions(clusters.rows, {split: _linked(rows, clusters.rows) for split, rows in splits.items()})
        if clusters
        else None
    )
    tables = [*facts.values(), *([clusters] if clusters else [])]
    return Draft(
        splits=splits,
        entity_ids=entities.names,
        relation_ids=relations.names,
        mentions=mentions,
        skipped=tuple(line for table in tables for line in table.skipped),
    )


def _linked(facts: pl.DataFrame, clusters: pl.DataFrame) -> pl.DataFrame:
    """The cluster of each fact's subject and object, null for a phrase that is in none."""
    ends = pl.col("subject", "object")
    return facts.select(ends.replace_strict(clusters["id"], clusters["thing"], default=None, return_dtype=pl.Int64))
