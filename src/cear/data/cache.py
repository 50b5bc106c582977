"""Knowledge bases that were read once, kept as Parquet. A stale or damaged cache is made again, no error."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl

from cear.core.errors import DataError
from cear.core.files import read_json, write_json
from cear.core.seals import SEAL, flaw_of, seal
from cear.core.types import SPLITS, Ragged, Split
from cear.data.draft import FACT, ReadOptions
from cear.data.entity_types import TypeFacts, Types
from cear.data.knowledge_base import KnowledgeBase
from cear.data.mentions import Mentions
from cear.data.report import Reading, ReadReport
from cear.data.sources import cache_root
from cear.data.vocabulary import Kind, Vocabulary

log = logging.getLogger("cear.data")

READER_VERSION = 6  # raise it whenever a reader would make something else of the same files
MANIFEST = "manifest.json"
LINK = {"subject": pl.Int64, "object": pl.Int64}
CACHED_FROM_BYTES = 16_000_000  # a smaller source is read as fast as its cache


def cached(path: Path, options: ReadOptions, name: str, make: Callable[[], Reading]) -> Reading:
    """The reading of a path, from the cache when its files have not changed since, else made and kept."""
    files = _files(path)
    if sum(file.stat().st_size for file in files) < CACHED_FROM_BYTES:
        return make()
    folder = place(path, options)
    stamp = fingerprint(files)
    kept = load(folder, name, stamp)
    if kept is not None:
        return kept
    made = make()
    try:
        save(folder, made, stamp)
    except OSError as error:  # a full or read-only disk costs time, not the result
        log.info("The cache %s was not written: %s", folder, error)
    return made


def place(path: Path, options: ReadOptions) -> Path:
    """The folder that caches this path read with these options."""
    key = json.dumps([str(path.resolve()), asdict(options)], sort_keys=True, default=dict)
    return cache_root() / "knowledge-bases" / f"{path.stem}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def fingerprint(files: list[Path]) -> dict[str, Any]:
    """What tells whether files have changed: the reader's version, names, sizes, and times in nanoseconds."""
    stats = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return {"reader": READER_VERSION, "files": [list(stat) for stat in stats]}


def save(folder: Path, reading: Reading, stamp: dict[str, Any]) -> None:
    """Keep a reading as a folder of Parquet files; the folder is there whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        write_kept(partial / "new", reading.kb)
        write_json(partial / "new" / MANIFEST, {"stamp": stamp, "report": reading.report.to_json()})
        seal(partial / "new")
        if folder.exists():
            folder.rename(partial / "old")
        (partial / "new").rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_kept(folder: Path, kb: KnowledgeBase) -> None:
    """Write a knowledge base as a folder of Parquet files."""
    for name, table in _tables(kb).items():
        table.write_parquet(folder / name, mkdir=True)


def read_kept(folder: Path, name: str) -> KnowledgeBase:
    """The knowledge base that a folder keeps as Parquet files."""
    try:
        return _knowledge_base(folder, name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{folder} holds no knowledge base that can be read: {error}. Copy it anew.") from error


def load(folder: Path, name: str, stamp: dict[str, Any]) -> Reading | None:
    """The reading kept in a folder, or None when there is none, it is stale, or it is damaged."""
    if not (folder / SEAL).exists():
        return None
    try:
        if (damage := flaw_of(folder)) is not None:  # a damaged Parquet file is not something to hand to a parser
            raise DataError(f"{damage}.")
        manifest = read_json(folder / MANIFEST)
        if manifest["stamp"] != stamp:
            return None
        return Reading(_knowledge_base(folder, name), ReadReport.from_json(manifest["report"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, DataError) as error:
        log.warning("The cache %s is damaged and made again: %s", folder, error)
    return None


def clear() -> None:
    """Forget every cached reading. Downloaded data sets stay."""
    shutil.rmtree(cache_root() / "knowledge-bases", ignore_errors=True)


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(file for file in path.iterdir() if file.is_file())


def _tables(kb: KnowledgeBase) -> dict[str, pl.DataFrame]:
    tables = {"entities.parquet": kb.entities.table, "relations.parquet": kb.relations.table}
    for words, what in ((kb.entities, "entities"), (kb.relations, "relations")):
        if not words.aliases.is_empty():
            tables[f"aliases-of-{what}.parquet"] = words.aliases
    for split in SPLITS:
        tables[f"{split}.parquet"] = pl.DataFrame(kb.facts(split), schema=dict.fromkeys(FACT, pl.Int64))
    mentions = {} if kb.mentions is None else _mention_tables(kb.mentions)
    return tables | mentions | ({} if kb.types is None else _type_tables(kb.types))


def _mention_tables(mentions: Mentions) -> dict[str, pl.DataFrame]:
    things, members = (
        pl.DataFrame({"mentions": mentions.members.counts}),
        pl.DataFrame({"entity": mentions.members.values}),
    )
    links = {f"{split}-links.parquet": pl.DataFrame(ends, schema=LINK) for split, ends in mentions.ends.items()}
    return {"things.parquet": things, "mentions.parquet": members, **links}


def _type_tables(types: Types) -> dict[str, pl.DataFrame]:
    pairs = pl.DataFrame({"entity": types.of_entity.rows, "type": types.of_entity.values})
    names = pl.DataFrame({"name": pl.Series(types.names, dtype=pl.String)})
    if types.facts is not None:
        names = names.with_columns(object=types.facts.objects, relation=types.facts.relation)
    return {"types.parquet": names, "types-of-entities.parquet": pairs}


def _knowledge_base(folder: Path, name: str) -> KnowledgeBase:
    entities, relations = _vocabulary(folder, "entity", "entities"), _vocabulary(folder, "relation", "relations")
    facts = {split: pl.read_parquet(folder / f"{split}.parquet").to_numpy() for split in SPLITS}
    return KnowledgeBase(name, entities, relations, facts, _mentions(folder), _types(folder, len(entities)))


def _vocabulary(folder: Path, kind: Kind, what: str) -> Vocabulary:
    aliases = folder / f"aliases-of-{what}.parquet"
    known = pl.read_parquet(aliases) if aliases.exists() else None
    return Vocabulary(kind, pl.read_parquet(folder / f"{what}.parquet"), known)


def _mentions(folder: Path) -> Mentions | None:
    if not (folder / "mentions.parquet").exists():
        return None
    counts, members = (pl.read_parquet(folder / f"{name}.parquet").to_series() for name in ("things", "mentions"))
    files: dict[Split, Path] = {split: folder / f"{split}-links.parquet" for split in SPLITS}
    ends = {split: pl.read_parquet(file).to_numpy() for split, file in files.items() if file.exists()}
    return Mentions(Ragged.of_counts(counts.to_numpy(), members.to_numpy()), ends)


def _types(folder: Path, n_entities: int) -> Types | None:
    if not (folder / "types.parquet").exists():
        return None
    names, pairs = (pl.read_parquet(folder / f"{name}.parquet") for name in ("types", "types-of-entities"))
    entity, kind = (pairs[column].to_numpy() for column in ("entity", "type"))
    types = Types.of_pairs(tuple(names["name"]), entity, kind, n_entities)
    if "relation" not in names.columns:
        return types
    return replace(types, facts=TypeFacts(int(names["relation"][0]), names["object"].to_numpy()))
