"""N-Triples and Turtle: links between IRIs are facts, labels names, comments descriptions; `rdf:type` says types."""

from __future__ import annotations

import logging
import re
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import unquote

import polars as pl

from cear.core.errors import DataError
from cear.data.draft import FACT, TEXT, Draft, ReadOptions
from cear.data.packed import kind_of
from cear.data.splitting import split_facts
from cear.data.type_facts import RDF_TYPE

if TYPE_CHECKING:
    from cear.data.readers.rdf_statements import Gathered

log = logging.getLogger("cear.data")

SUFFIXES = (".nt", ".ttl")
_EXAMPLES = 5


def recognises(path: Path) -> bool:
    """Whether this is an N-Triples or Turtle file."""
    return path.is_file() and kind_of(path) in SUFFIXES


def read(path: Path, options: ReadOptions) -> Draft:
    """The links between IRIs as facts, split by the seed, with the labels and comments of their parts."""
    found = _statements().gather(path, options.rdf, skip_bad_lines=options.skip_bad_lines)
    if not found.facts:
        raise DataError(f"{path} holds no facts: no statement links an IRI to an IRI, but for those that are left out.")
    for pattern in options.rdf.unmatched({*found.left_out}):
        log.warning("%s: rdf: leave_out: no statement has the predicate %s", path, pattern)
    facts = pl.DataFrame(found.facts, schema=dict.fromkeys(FACT, pl.String), orient="row")
    splits = split_facts(facts, options)
    entities = pl.concat([facts["subject"], facts["object"]]).unique(maintain_order=True)
    relations = facts["relation"].unique(maintain_order=True)
    left_out = _left_out(found, set(entities))
    return Draft(
        splits,
        entity_texts=_texts(entities, found, camel_case=False),
        relation_texts=_texts(relations, found, camel_case=True),
        entity_aliases=_aliases(entities, found),
        relation_aliases=_aliases(relations, found),
        types=_types(found) if found.types else None,
        typed_by=RDF_TYPE,
        skipped=tuple(found.bad),
        duplicate_facts=facts.height - sum(split.height for split in splits.values()),
        left_out={what: count for what, count, _ in left_out if count},
        left_out_examples={what: examples for what, _, examples in left_out if examples},
    )


def readable(iri: str, *, camel_case: bool = False) -> str:
    """The last part of an IRI as words.

    >>> readable("http://dbpedia.org/resource/New_York_City")
    'New York City'
    >>> readable("http://dbpedia.org/ontology/birthPlace", camel_case=True)
    'birth place'
    """
    last = re.split(r"[/#:]", iri.rstrip("/#"))[-1]
    words = unquote(last).replace("_", " ").strip()
    if camel_case:
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", words).lower()
    return words or iri


def _texts(iris: pl.Series, found: Gathered, *, camel_case: bool) -> pl.DataFrame:
    names, descriptions = found.names, found.descriptions
    rows = [(iri, names.get(iri) or readable(iri, camel_case=camel_case), descriptions.get(iri)) for iri in iris]
    return pl.DataFrame(rows, schema=dict.fromkeys(TEXT, pl.String), orient="row")


def _aliases(iris: pl.Series, found: Gathered) -> pl.DataFrame:
    rows = [(iri, alias) for iri in iris for alias in found.aliases(iri)]
    return pl.DataFrame(rows, schema=dict.fromkeys(("id", "alias"), pl.String), orient="row")


def _types(found: Gathered) -> pl.DataFrame:
    """What `rdf:type` says beside the facts; a type has its IRI for a name where another one is called the same."""
    names = {kind: found.names.get(kind) or readable(kind) for _, kind in found.types}
    called = Counter(names.values())
    rows = [(iri, names[kind] if called[names[kind]] == 1 else kind) for iri, kind in found.types]
    return pl.DataFrame(rows, schema=dict.fromkeys(("id", "type"), pl.String), orient="row").unique(maintain_order=True)


def _left_out(found: Gathered, entities: set[str]) -> list[tuple[str, int, tuple[str, ...]]]:
    """What is neither fact nor text, how many of it there are, and examples."""
    inside = sorted(f"{one} = {other}" for one, other in found.same_as if one in entities and other in entities)
    return [
        ("literals that are neither names nor descriptions", found.literals.total(), _most(found.literals)),
        ("statements with blank nodes", found.blank_nodes, ()),
        ("statements about statements", found.about_statements, ()),
        ("owl:sameAs links between entities of this knowledge base", len(inside), tuple(inside[:_EXAMPLES])),
        ("owl:sameAs links to elsewhere", len(found.same_as) - len(inside), ()),
        ("statements of predicates that were to be left out", found.left_out.total(), _most(found.left_out)),
    ]


def _most(counts: Counter[str]) -> tuple[str, ...]:
    """The most frequent predicates, with their numbers."""
    order = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return tuple(f"{predicate} ({count:,})" for predicate, count in order[:_EXAMPLES])


def _statements() -> ModuleType:
    try:
        from cear.data.readers import rdf_statements
    except ModuleNotFoundError as error:
        if error.name != "pyoxigraph":
            raise
        message = 'Reading RDF needs pyoxigraph, which is not installed: pip install "cear[rdf]".'
        raise DataError(message) from error
    return rdf_statements
