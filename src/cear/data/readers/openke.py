"""OpenKE's id files: integers in the facts, HEAD TAIL RELATION, and a count on every first line."""

from __future__ import annotations

from pathlib import Path

from cear.core.types import SPLITS
from cear.data.draft import FACT, Draft, ReadOptions
from cear.data.readers.numbered import read_facts, read_ids
from cear.data.readers.texts import read_texts
from cear.data.readers.types import read_folder_types

VOCABULARIES = ("entity2id.txt", "relation2id.txt")
ROW = ("subject", "object", "relation")  # OpenKE's order


def recognises(path: Path) -> bool:
    """Whether this is a folder with OpenKE's ids and training facts."""
    return all((path / name).is_file() for name in (*VOCABULARIES, "train2id.txt"))


def read(path: Path, options: ReadOptions) -> Draft:
    """The facts of an OpenKE folder; entities and relations keep the integers that the files give them."""
    skip = options.skip_bad_lines
    entities, relations = (read_ids(path / name) for name in VOCABULARIES)
    files = {split: path / f"{split}2id.txt" for split in SPLITS if (path / f"{split}2id.txt").is_file()}
    facts = {split: read_facts(file, ROW, entities, relations, skip_bad_lines=skip) for split, file in files.items()}
    texts = read_texts(path, "entity", rule=options.text, skip_bad_lines=skip)
    relation_texts = read_texts(path, "relation", rule="name", skip_bad_lines=skip)
    types = read_folder_types(path, skip_bad_lines=skip)
    tables = [*facts.values(), *(table for table in (texts, relation_texts, types) if table)]
    return Draft(
        splits={split: table.rows.select(FACT) for split, table in facts.items()},
        entity_texts=texts.rows if texts else None,
        relation_texts=relation_texts.rows if relation_texts else None,
        entity_ids=entities.names,
        relation_ids=relations.names,
        types=types.rows if types else None,
        skipped=tuple(line for table in tables for line in table.skipped),
    )
